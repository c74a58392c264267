"""One page that shows what a replay has given: times, confidence, scale, pictures, clouds, errors. Needs no ROS and no network."""
