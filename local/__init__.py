"""The laptop: servers, gateway, jobs and simulated fleet, all on 127.0.0.1; and the set-up."""
