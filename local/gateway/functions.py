"""Calling a Lambda function's handler in a thread, with a time limit."""

import asyncio
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from local.gateway.event import Event

type Handler = Callable[[Event, object], object]


class LambdaContext:
    """What a handler may ask of Lambda."""

    function_version = "$LATEST"
    log_stream_name = "local"
    memory_limit_in_mb = 512

    def __init__(self, function_name: str, *, timeout_s: float) -> None:
        self.function_name = function_name
        self.log_group_name = f"/aws/lambda/{function_name}"
        self.invoked_function_arn = (
            f"arn:aws:lambda:eu-central-1:000000000000:function:{function_name}"
        )
        self.aws_request_id = str(uuid.uuid4())
        self._deadline_s = time.monotonic() + timeout_s

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self._deadline_s - time.monotonic()) * 1000))


class Functions:
    """Runs handlers in threads; a handler that exceeds the time limit goes on unobserved."""

    def __init__(self, *, threads: int, timeout_s: float) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="lambda")
        self._timeout_s = timeout_s

    async def called(self, handler: Handler, event: Event, *, name: str) -> object:
        """Call a handler and wait for what it returns.

        Raises:
            TimeoutError: It did not return in time.
            Exception: Whatever the handler raises.
        """
        context = LambdaContext(name, timeout_s=self._timeout_s)
        loop = asyncio.get_running_loop()
        returned = loop.run_in_executor(self._executor, handler, event, context)
        return await asyncio.wait_for(returned, self._timeout_s)

    def close(self) -> None:
        """Call no more handlers; does not wait for calls under way."""
        self._executor.shutdown(wait=False, cancel_futures=True)
