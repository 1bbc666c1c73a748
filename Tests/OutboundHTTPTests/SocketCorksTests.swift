import Glibc
import Testing

@testable import OutboundHTTP

@Suite struct SocketCorksTests {
    private func isCorked(_ socket: Int32) -> Bool {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(socket, CInt(IPPROTO_TCP), TCP_CORK, &value, &length) == 0 && value != 0
    }

    @Test func `what is corked is let go, though more sockets are opened or some are closed meanwhile`() throws {
        let corks = SocketCorks()
        let sockets = (0..<18).map { _ in socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0) }
        defer { for socket in sockets { close(socket) } }
        try #require(sockets.allSatisfy { $0 >= 0 })
        for socket in sockets.prefix(16) { corks.noteOpened(socket) }
        corks.cork()
        #expect(sockets.map(isCorked) == sockets.indices.map { $0 < 16 })
        corks.noteClosed(sockets[0])
        for socket in sockets.suffix(2) { corks.noteOpened(socket) }
        corks.uncork()
        // The first one is not ours any more.
        #expect(sockets.map(isCorked) == sockets.indices.map { $0 == 0 })
        corks.cork()
        #expect(!sockets.dropFirst().contains(where: isCorked), "too many to be worth it")
    }
}
