"""What does a person see and press in a browser? Pages over the account, and the verbs behind buttons.

`observer.Observer` owns a hub on a thread of its own and publishes a `view.View` after every change;
`app.application` answers from the last view, so a slow hub makes no page slow. Pages render the values
of `rollout.account` and `rollout.analysis`; buttons call `rollout.operate` with a hub of the person's own.
"""
