"""What LocalStack calls to run a function: one executor for each concurrent invocation."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from localstack_hostmode.functions.process import Answer, FunctionProcess, error_json

ANSWER_BYTES_MAX = 6 * 1024 * 1024
_RUNTIME = "python3.13"
_HOST = "127.0.0.1"


class ProcessExecutorPlugin(RuntimeExecutorPlugin):  # type: ignore[misc]
    """The entry point by which LocalStack finds the executor, by ``LAMBDA_RUNTIME_EXECUTOR``."""

    name = "process"

    def load(self, *_: object, **__: object) -> type:
        return ProcessExecutor


class ProcessExecutor(RuntimeExecutor):  # type: ignore[misc]
    """An execution environment: a process, restarted when it died or took too long."""

    def __init__(self, id: str, function_version: FunctionVersion) -> None:  # noqa: A002 - LocalStack's
        super().__init__(id=id, function_version=function_version)
        folder = Path(os.environ["LOCALSTACK_FUNCTION_LOGS"])  # noqa: TID251 - the only setting
        folder.mkdir(parents=True, exist_ok=True)
        self._log_path: Path = folder / f"{function_version.id.function_name}-{id}.log"
        self._environment: dict[str, str] = {}
        self._process: FunctionProcess | None = None

    def start(self, env_vars: Mapping[str, object]) -> None:
        self._environment = {name: str(value) for name, value in env_vars.items()}
        self._running()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()

    def invoke(self, payload: Mapping[str, str]) -> InvocationResult:
        request_id, position = payload["invoke-id"], len(self.get_logs())
        answer = _limited(self._answer(payload))
        printed = self.get_logs()[position:]
        return InvocationResult(
            request_id=request_id,
            payload=answer.body,
            is_error=answer.is_error,
            logs=f"START RequestId: {request_id}\n{printed}END RequestId: {request_id}\n",
        )

    def get_logs(self) -> str:
        return self._log_path.read_text(errors="replace") if self._log_path.exists() else ""

    def get_address(self) -> str:
        return _HOST

    get_endpoint_from_executor = get_address  # LocalStack, as the function sees it

    def get_runtime_endpoint(self) -> str:
        """Not used: the runtime has the address of its own API in its environment."""
        return f"http://{_HOST}"

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        """Unpack the code; raises ``NotImplementedError`` where it needs what is not here."""
        settings = function_version.config
        if settings.runtime != _RUNTIME or settings.layers or settings.code is None:
            name = function_version.id.function_name
            message = f"{name} cannot run here: only zips for {_RUNTIME} without layers can"
            raise NotImplementedError(message)
        settings.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        """Leave the code: all of it goes with LocalStack's folder."""

    def _answer(self, payload: Mapping[str, str]) -> Answer:
        timeout_s = float(self.function_version.config.timeout)
        try:
            process = self._running()
        except StatusErrorException as failed:
            return Answer(body=failed.payload, is_error=True)
        headers = {
            "Lambda-Runtime-Aws-Request-Id": payload["invoke-id"],
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + timeout_s) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": payload["invoked-function-arn"],
            "Lambda-Runtime-Trace-Id": payload["trace-id"],
        }
        try:
            return process.invoke((payload["payload"].encode(), headers), timeout_s=timeout_s)
        except TimeoutError:
            process.kill()
            request = f"RequestId: {payload['invoke-id']}"
            message = f"{request} Error: Task timed out after {timeout_s:.2f} seconds"
            return Answer(body=error_json("Sandbox.Timedout", message), is_error=True)

    def _running(self) -> FunctionProcess:
        if self._process is None or not self._process.is_alive():
            settings: Any = self.function_version.config
            self._process = FunctionProcess(
                settings.code.get_unzipped_code_location(),
                settings.handler,
                self._environment,
                log_path=self._log_path,
            )
            self._process.wait_ready()
        return self._process


def _limited(answer: Answer) -> Answer:
    if answer.is_error or len(answer.body) <= ANSWER_BYTES_MAX:
        return answer
    message = (
        f"Response payload size exceeded maximum allowed payload size ({ANSWER_BYTES_MAX} bytes)."
    )
    return Answer(body=error_json("Function.ResponseSizeTooLarge", message), is_error=True)
