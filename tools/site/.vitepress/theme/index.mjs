/** VitePress's own theme, with diagrams and a menu of versions. */
import DefaultTheme from 'vitepress/theme';
import Diagram from './Diagram.vue';
import VersionMenu from './VersionMenu.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Diagram', Diagram);
    app.component('VersionMenu', VersionMenu);
  },
};
