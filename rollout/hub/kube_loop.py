"""The event loop of the connections to an API server, and of those to providers and sinks."""

import asyncio
import socket
import weakref
from contextlib import suppress
from typing import Any

_TURN_SECONDS = 0.002  # connections are closed by the turns of the loop after they are told to
_HANGING_UP_SECONDS = 2.0


class Loop(asyncio.SelectorEventLoop):
    """An event loop that knows its connections and programs, to cut them off in the end.

    It keeps connections, and their sockets, for as long as somebody else does.

    The sockets because of TLS: whoever is cancelled in the very turn in which a handshake is done is
    given no connection, and yet there is one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._connections: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._programs: weakref.WeakSet[asyncio.SubprocessTransport] = weakref.WeakSet()

    async def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        if (connected := kwargs.get("sock")) is not None:
            self._sockets.add(connected)
        transport, protocol = await super().create_connection(*args, **kwargs)
        self._connections.add(transport)
        return transport, protocol

    async def subprocess_exec(self, *args: Any, **kwargs: Any) -> Any:
        transport, protocol = await super().subprocess_exec(*args, **kwargs)
        self._programs.add(transport)
        return transport, protocol

    def end_programs(self) -> None:
        """Kill those that were started here and still run. On the loop's thread."""
        for program in tuple(self._programs):
            program.close()  # kills it

    async def hang_up(self) -> None:
        """Close all connections, end all programs, and wait until that is done.

        For when nobody uses them any more. TLS's goodbye is not waited for: a server that stands still would never return it.
        """
        self.end_programs()
        for transport in tuple(self._connections):
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
        for connected in tuple(self._sockets):
            with suppress(OSError):  # it is closed already
                connected.shutdown(socket.SHUT_RDWR)
        end = self.time() + _HANGING_UP_SECONDS
        await asyncio.sleep(_TURN_SECONDS)
        while self._is_in_use() and self.time() < end:
            await asyncio.sleep(_TURN_SECONDS)

    def _is_in_use(self) -> bool:
        return any(s.fileno() >= 0 for s in tuple(self._sockets)) or any(
            program.get_returncode() is None for program in tuple(self._programs)
        )
