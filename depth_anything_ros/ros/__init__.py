"""The ROS 2 front: the only folder that imports rclpy or message packages."""
