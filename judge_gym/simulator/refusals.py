"""Refusals in OpenAI's shape, whether a request cannot be served or a fault is asked for."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


class Refusal(Exception):
    """An answer that is not 200; `parameter` names the field at fault."""

    def __init__(
        self,
        message: str,
        parameter: str | None = None,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body: dict[str, Any] = {
            "error": {"message": message, "type": kind, "param": parameter, "code": code}
        }


def read_model(model: type[M], data: Any) -> M:
    """Read a body as `model`; raises `Refusal` naming the field and the fault."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise Refusal(f"{place}: {first['msg']}", place) from None
