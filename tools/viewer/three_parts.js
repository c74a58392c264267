export { BufferAttribute, BufferGeometry, Color, PerspectiveCamera, Points, PointsMaterial, Scene, WebGLRenderer } from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
