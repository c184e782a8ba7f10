"""The laptop: servers, gateway, jobs, simulated fleet and ledger, all on 127.0.0.1."""
