//! Threads and sockets around the layers below: producers and consumers.
