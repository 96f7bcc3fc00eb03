import { render } from 'preact'
import { App } from './app.tsx'
import { movePathToHash } from './route.ts'
import './style.css'
import { applyTheme, readTheme } from './theme.ts'

applyTheme(readTheme())
movePathToHash()
render(<App />, document.getElementById('page') as HTMLElement)
