"""The entry point by which LocalStack finds the executor, by ``LAMBDA_RUNTIME_EXECUTOR``."""

from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin


class ProcessExecutorPlugin(RuntimeExecutorPlugin):  # type: ignore[misc]
    """Named ``process``."""

    name = "process"

    def load(self, *_: object, **__: object) -> type:
        """The class that LocalStack makes its executors of."""
        from localstack_hostmode.functions.executor import ProcessExecutor

        return ProcessExecutor
