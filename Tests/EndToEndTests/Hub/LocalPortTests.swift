import Glibc
import Testing

@testable import newswire

@Suite struct LocalPortTests {
    @Test(arguments: [("127.0.0.1", AF_INET), ("::1", AF_INET6)])
    func `a port is free until a program listens there`(address: String, family: Int32) throws {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        // Without an address a socket that listens gets any free port of all addresses.
        guard descriptor >= 0, listen(descriptor, 1) == 0 else { return }
        var bound = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = withUnsafeMutablePointer(to: &bound) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        try #require(code == 0)
        // The port is at the same place for both families.
        let port = Int(UInt16(bigEndian: bound.sin6_port))
        #expect(!LocalPort.isFree(port, on: address))
        #expect(LocalPort.isFree(0, on: address))
    }

    @Test(arguments: ["192.0.2.55", "no address", ""])
    func `no port of another machine's address is free`(address: String) {
        #expect(!LocalPort.isFree(0, on: address))
    }
}
