"""The app with a stage of the table as it is published."""

from infra import app
from tests.infra.stage_table import published_settings_of


def main() -> None:
    vars(app)["settings_of"] = published_settings_of  # where `build` looks it up
    app.main()


if __name__ == "__main__":
    main()
