python3 -m venv .venv
.venv/bin/pip install --quiet --requirement requirements.txt
.venv/bin/pip freeze > installed.txt
.venv/bin/python manage.py migrate
.venv/bin/python manage.py runserver --noreload localhost:8000
