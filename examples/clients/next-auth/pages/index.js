import { signIn, signOut, useSession } from 'next-auth/react';

export default function Home() {
  const { data, status } = useSession();
  if (status === 'loading') return null;
  if (!data) return <button onClick={() => signIn('idp')}>Sign in</button>;
  return (
    <>
      Hello {data.user.name}, {data.user.email} <button onClick={() => signOut()}>Sign out</button>
    </>
  );
}
