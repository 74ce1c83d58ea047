mkdir -p run
apache2 -d "$PWD" -f apache.conf -D FOREGROUND
