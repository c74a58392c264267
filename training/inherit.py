"""The start of the metric net from a trained any-view net."""

import torch

USUAL_LOG_DEPTH = 2.4  # mean of the metric targets; the any-view net's are around 0


@torch.no_grad()
def inherit(net, elder, pictures):
    """Take over from `elder` (any-view) what has a place in `net` (metric), and fit what connects the backbone with the head.

    The elder's taps are twice as wide, and its upper blocks use QK-norm and RoPE, which the metric net lacks. So the four 1x1 convolutions
    behind the taps are fitted by least squares to give what the elder's give on `pictures` [N, 1, 3, H, W].
    """
    own = net.state_dict()
    own.update({key: value for key, value in elder.state_dict().items() if key in own and own[key].shape == value.shape})
    last = elder.head.scratch.output_conv2[-1]
    own["head.scratch.output_conv2.2.weight"] = last.weight[:1]
    own["head.scratch.output_conv2.2.bias"] = last.bias[:1] + USUAL_LOG_DEPTH
    for part in ("weight", "bias"):
        own[f"head.scratch.sky_output_conv2.0.{part}"] = own[f"head.scratch.output_conv2.0.{part}"].clone()
    net.load_state_dict(own)
    for stage, (new, old) in enumerate(zip(_taps(net, pictures), _taps(elder, pictures))):
        wanted = old @ elder.head.projects[stage].weight[:, :, 0, 0].T + elder.head.projects[stage].bias
        weights = _ridge(torch.cat([new, torch.ones_like(new[:, :1])], 1), wanted)
        net.head.projects[stage].weight.copy_(weights[:-1].T[:, :, None, None])
        net.head.projects[stage].bias.copy_(weights[-1])


def _taps(net, pictures):
    """Normalised tokens of the four taps over all pictures, each [tokens, channels]."""
    feats, _ = net.backbone.pretrained.get_intermediate_layers(pictures, net.shape.out_layers)
    return [net.head.norm(feat).flatten(0, 2) for feat, _ in feats]


def _ridge(inputs, outputs):
    square = inputs.T @ inputs
    return torch.linalg.solve(square + 1e-3 * square.diagonal().mean() * torch.eye(len(square)), inputs.T @ outputs)
