ruby app.rb
