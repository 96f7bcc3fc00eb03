import { defineTexts } from '../language.ts'

export const signInTexts = defineTexts('signIn', {
  title: 'Sign in to Tabbat',
  pageTitle: 'Sign in',
  name: 'Name',
  password: 'Password',
  signIn: 'Sign in',
  noAccount: 'No account? Ask the operator of this server for a one-time link: {command}.',
  sso: 'Sign in with single sign-on',
  confirmSso:
    'Your account has no password here. Sign in again at your identity provider, then repeat the change.',
  confirmSsoLink: 'Sign in again',
  problems: {
    sso_failed: 'The identity provider did not confirm the sign-in. Try again.',
    sso_expired: 'The sign-in took too long, or was begun in another browser. Try again.',
    sso_unavailable: 'The identity provider cannot be reached. Try again later, or sign in with a password.',
    sso_no_role: 'Your account at the identity provider has no role here. Ask an owner.',
    sso_name_taken:
      'Another account here has your name. Ask an owner to remove it, or to choose another claim for names.',
  },
})
