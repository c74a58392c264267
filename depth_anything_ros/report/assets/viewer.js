// Shows the clouds of the page. Points are in the optical frame (x right, y down, z forward); three.js looks along -z with y up.
"use strict";
(() => {
  const clouds = JSON.parse(document.getElementById("clouds").textContent);
  const view = document.getElementById("view");
  if (clouds.length === 0) {
    view.parentElement.innerHTML = "<p>There is no calibrated depth to make a cloud of.</p>";
    return;
  }
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  function geometryOf(cloud) {
    const steps = new Int16Array(bytes(cloud.xyz).buffer);
    const places = new Float32Array(steps.length);
    for (let i = 0; i < steps.length; i += 3) {
      places[i] = steps[i] * cloud.step;
      places[i + 1] = -steps[i + 1] * cloud.step;
      places[i + 2] = -steps[i + 2] * cloud.step;
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
    geometry.setAttribute("color", new THREE.BufferAttribute(bytes(cloud.rgb), 3, true));
    return geometry;
  }

  // Distance of the middle point, and how high the picture is: the tangent of half its angle.
  function lookOf(geometry) {
    const places = geometry.getAttribute("position").array;
    const distances = [];
    let slope = 0.1;
    for (let i = 0; i < places.length; i += 3) {
      const distance = -places[i + 2];
      distances.push(distance);
      slope = Math.max(slope, Math.abs(places[i + 1]) / distance);
    }
    distances.sort((a, b) => a - b);
    return { distance: distances[distances.length >> 1] || 1, slope };
  }

  const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  // The colours of a picture are for the screen already: out as they come in.
  renderer.outputColorSpace = "srgb-linear";
  renderer.setPixelRatio(window.devicePixelRatio);
  view.appendChild(renderer.domElement);
  const scene = new THREE.Scene();
  scene.background = new THREE.Color().setRGB(16 / 255, 21 / 255, 29 / 255);
  const camera = new THREE.PerspectiveCamera(55, 1, 0.01, 10000);
  const material = new THREE.PointsMaterial({ size: Number(document.getElementById("size").value), sizeAttenuation: false, vertexColors: true });
  const points = new THREE.Points(new THREE.BufferGeometry(), material);
  points.frustumCulled = false;
  scene.add(points);
  const controls = new THREE.OrbitControls(camera, renderer.domElement);
  const draw = () => renderer.render(scene, camera);
  controls.addEventListener("change", draw);

  function goHome() {
    const { distance, slope } = lookOf(points.geometry);
    camera.fov = Math.min(120, (2 * Math.atan(1.1 * slope) * 180) / Math.PI);
    camera.updateProjectionMatrix();
    camera.position.set(0, 0, 0);
    controls.target.set(0, 0, -distance);
    controls.update();
    draw();
  }

  function show(number) {
    points.geometry.dispose();
    points.geometry = geometryOf(clouds[number]);
    document.getElementById("count").textContent = `${points.geometry.getAttribute("position").count} points`;
    goHome();
  }

  function fit() {
    renderer.setSize(view.clientWidth, view.clientHeight);
    camera.aspect = view.clientWidth / view.clientHeight;
    camera.updateProjectionMatrix();
    draw();
  }

  const frames = document.getElementById("frame");
  clouds.forEach((cloud, number) => frames.add(new Option(cloud.name, number)));
  frames.addEventListener("change", () => show(Number(frames.value)));
  document.getElementById("size").addEventListener("input", (event) => {
    material.size = Number(event.target.value);
    draw();
  });
  document.getElementById("home").addEventListener("click", goHome);
  window.addEventListener("resize", fit);
  fit();
  show(0);
})();
