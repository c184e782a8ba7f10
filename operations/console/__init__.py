"""The console: a platform's flows, devices, messages and ledger as pages in a browser."""
