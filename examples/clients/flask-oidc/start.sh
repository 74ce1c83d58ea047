python3 -m venv .venv
.venv/bin/pip install --quiet --requirement requirements.txt
.venv/bin/pip freeze > installed.txt
.venv/bin/flask run --port 5000
