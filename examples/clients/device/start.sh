npm install
node sign-in.js
