import pathlib
import secrets

BASE_DIR = pathlib.Path(__file__).resolve().parent
SECRET_KEY = secrets.token_hex(32)
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["books"]
ROOT_URLCONF = "urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "db.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
