"""The dashboard: pages over the account, and buttons for the verbs.

`observer.Observer` owns a hub on a thread of its own and publishes a `view.DashboardView` after every change;
`app.application` answers from the last view, so a slow hub makes no page slow. Pages render the values
of `rollout.account` and `rollout.analysis`; buttons call `rollout.operate` with a hub of the person's own.
"""
