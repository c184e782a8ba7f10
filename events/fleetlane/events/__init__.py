"""What travels through Fleetlane: names, lanes, topics, envelopes, canonical events, flows."""
