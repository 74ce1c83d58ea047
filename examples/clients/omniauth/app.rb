require 'omniauth'
require 'omniauth_openid_connect'
require 'sinatra'
require 'uri'

HOME = 'http://localhost:4567/'
issuer = URI(ENV.fetch('ISSUER'))
SWD.url_builder = URI::HTTP if issuer.scheme == 'http' # plain http is for an issuer on this machine alone

set :bind, 'localhost'
set :port, 4567
set :server, :webrick
use Rack::Session::Cookie, secret: ENV.fetch('SESSION_SECRET'), same_site: :lax, httponly: true, secure: HOME.start_with?('https:')
use OmniAuth::Builder do
  provider :openid_connect,
           name: :idp,
           issuer: issuer.to_s,
           discovery: true,
           scope: %i[openid profile email],
           client_options: {
             identifier: ENV.fetch('CLIENT_ID'),
             secret: ENV.fetch('CLIENT_SECRET'),
             redirect_uri: "#{HOME}auth/idp/callback"
           }
end

get '/' do
  person = session[:person]
  if person
    text = Rack::Utils.escape_html("Hello #{person['name']}, #{person['email']}")
    "#{text} <a href=\"/sign-out\">Sign out</a>"
  else
    token = Rack::Protection::AuthenticityToken.token(session)
    "<form method=\"post\" action=\"/auth/idp\"><input type=\"hidden\" name=\"authenticity_token\" value=\"#{token}\"><button>Sign in</button></form>"
  end
end

get '/auth/idp/callback' do
  auth = env['omniauth.auth'] # state, nonce, signature, iss, aud and exp are checked
  session[:person] = { 'sub' => auth.uid, 'name' => auth.info.name, 'email' => auth.info.email }
  session[:id_token] = auth.credentials.id_token
  redirect '/'
end

get '/auth/failure' do
  status 400
  Rack::Utils.escape_html("Sign-in failed: #{params['message']}")
end

get '/sign-out' do
  hint = session[:id_token]
  session.clear
  redirect '/' unless hint
  parameters = URI.encode_www_form(id_token_hint: hint, post_logout_redirect_uri: HOME)
  redirect "#{issuer}/oauth/logout?#{parameters}"
end
