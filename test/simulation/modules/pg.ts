export { default } from 'pg'
