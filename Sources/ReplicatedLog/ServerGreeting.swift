import Formats
import Foundation
import Glibc
package import NetworkAddresses

/// The facts that a server of the log sends to every client first, before TLS and without credentials.
package struct ServerGreeting: Sendable, Equatable, Decodable {
    /// Bytes of the longest greeting that is read: one with the addresses of many servers.
    private static let maximumBytes = 65_536
    /// Seconds for the connection, and for each part of the greeting.
    private static let seconds = 2

    package let version: String
    package let name: String?
    /// The name of its cluster; `nil` for a single server.
    package let cluster: String?
    package let hasJetStream: Bool?
    package let maximumPayload: Int
    package let hasTLS: Bool?
    package let requiresTLS: Bool?

    private enum CodingKeys: String, CodingKey {
        case version, cluster
        case name = "server_name"
        case hasJetStream = "jetstream"
        case maximumPayload = "max_payload"
        case hasTLS = "tls_available"
        case requiresTLS = "tls_required"
    }

    package struct Problem: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// Connects to a server and reads its greeting; blocks.
    package init(of server: LogServer) throws(Problem) {
        let line = try Self.line(from: try Self.connection(to: server))
        guard line.hasPrefix("INFO "),
            let greeting = try? JSONReader.decode(Self.self, from: line.dropFirst(5))
        else { throw Problem(description: "it is not a NATS server") }
        self = greeting
    }

    /// A connected socket.
    private static func connection(to server: LogServer) throws(Problem) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(server.host.description, "\(server.port)", &hints, &list)
        guard code == 0 else { throw Problem(description: String(cString: gai_strerror(code)).lowercased()) }
        defer { freeaddrinfo(list) }
        var reason = "it has no address"
        for address in sequence(first: list, next: { $0?.pointee.ai_next }).compactMap(\.self) {
            let descriptor = socket(
                address.pointee.ai_family,
                address.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue),
                address.pointee.ai_protocol
            )
            guard descriptor >= 0 else { continue }
            var time = timeval(tv_sec: seconds, tv_usec: 0)
            let length = socklen_t(MemoryLayout<timeval>.size)
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, length)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, length)
            if connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 { return descriptor }
            // A connection that takes too long is 'in progress'.
            reason = errno == EINPROGRESS ? "connection timed out" : String(cString: strerror(errno)).lowercased()
            close(descriptor)
        }
        throw Problem(description: reason)
    }

    /// The first line of what a server sends.
    private static func line(from descriptor: Int32) throws(Problem) -> String {
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let end = ContinuousClock.now + .seconds(seconds)
        while bytes.count < maximumBytes, .now < end {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
            if let lineEnd = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                return String(decoding: bytes[..<lineEnd], as: UTF8.self)
            }
        }
        throw Problem(description: "it does not answer like a NATS server")
    }

    /// Major and minor number of the version.
    var release: (Int, Int) {
        let numbers = version.split(separator: ".").prefix(2).compactMap { Int($0) }
        return numbers.count == 2 ? (numbers[0], numbers[1]) : (0, 0)
    }
}
