"""What the name of a model, `provider/model`, says of it."""

SIMULATED = "sim/"
"""How the names of models begin that the simulator plays."""


def is_simulated_model(model: str) -> bool:
    """Whether the simulator plays this model, so that it costs nothing and shows nothing."""
    return model.startswith(SIMULATED)
