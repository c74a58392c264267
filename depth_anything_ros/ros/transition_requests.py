"""Requests for lifecycle transitions that the node's state does not know."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode


def refuse_what_cannot_be(node: LifecycleNode) -> None:
    """Have such requests answered with a refusal: rclpy raises instead, out of the executor, and the client waits for ever.

    A lifecycle manager that configures a node which has configured itself sends one.
    """
    (service,) = (one for one in node.services if one.srv_type is ChangeState)
    change_state = service.callback

    def answer(request: Any, response: Any) -> Any:
        try:
            return change_state(request, response)
        except RuntimeError as error:  # of the state machine: what our transitions raise does not come so far
            asked = request.transition.label or request.transition.id
            node.get_logger().warning(f"Transition {asked} is refused; `ros2 lifecycle list` shows what is possible now. {error}")
            response.success = False
            return response

    service.callback = answer
