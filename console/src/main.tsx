import { render } from 'preact'
import { App } from './app.tsx'
import './style.css'
import { applyTheme, readTheme } from './theme.ts'

applyTheme(readTheme())
render(<App />, document.getElementById('page') as HTMLElement)
