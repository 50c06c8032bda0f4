declare module 'muster' {}
