import CNats
import Glibc
import HostSystem
import NetworkAddresses

/// The options with which nats.c connects to the log's servers.
final class EngineOptions {
    /// Interval between pings of a server; the connection counts as lost when two pongs in succession are missing.
    private static let pingMilliseconds: Int64 = 1_000
    private static let connectMilliseconds: Int64 = 2_000
    /// Time within which a server must accept data that is sent to it.
    private static let writeMilliseconds: Int64 = 3_000
    /// Time between two rounds of attempts to reconnect, and the maximum that is added to it at random.
    private static let reconnectMilliseconds: Int64 = 250

    private let pointer: OpaquePointer
    private let servers: [String]
    private let usesTLS: Bool

    init(_ configuration: ReplicatedLogConfiguration) throws(ReplicatedLogError) {
        var created: OpaquePointer?
        guard natsOptions_Create(&created) == NATS_OK, let created else {
            throw .unreachable(NatsStatus.text(NATS_NO_MEMORY))
        }
        pointer = created
        servers = configuration.servers.map(\.description)
        usesTLS = configuration.usesTLS
        try setServers(configuration)
        try setTimes()
        try setIdentity(configuration)
    }

    deinit { natsOptions_Destroy(pointer) }

    private func setServers(_ configuration: ReplicatedLogConfiguration) throws(ReplicatedLogError) {
        let texts = servers.map { strdup($0) }
        defer { for text in texts { free(text) } }
        var list = texts.map { UnsafePointer<CChar>($0) }
        try check(natsOptions_SetServers(pointer, &list, Int32(list.count)), "the server addresses")
        try check(natsOptions_SetNoRandomize(pointer, configuration.keepsOrder), "the server addresses")
        try check(natsOptions_SetName(pointer, "newswire \(configuration.node)"), "the node's name")
        // The addresses that servers announce of each other may lack TLS.
        try check(natsOptions_SetIgnoreDiscoveredServers(pointer, true), "the server addresses")
        // A node does not receive its own messages.
        try check(natsOptions_SetNoEcho(pointer, true), "the echo option")
        try check(natsOptions_SetSendAsap(pointer, true), "the buffer option")
    }

    private func setTimes() throws(ReplicatedLogError) {
        try check(natsOptions_SetTimeout(pointer, Self.connectMilliseconds), "the time limit")
        try check(natsOptions_SetWriteDeadline(pointer, Self.writeMilliseconds), "the time limit")
        try check(natsOptions_SetPingInterval(pointer, Self.pingMilliseconds), "the ping option")
        try check(natsOptions_SetMaxPingsOut(pointer, 2), "the ping option")
        try check(natsOptions_SetMaxReconnect(pointer, -1), "the reconnect option")
        let wait = Self.reconnectMilliseconds
        try check(natsOptions_SetReconnectWait(pointer, wait), "the reconnect option")
        try check(natsOptions_SetReconnectJitter(pointer, wait, wait), "the reconnect option")
        // A message that is sent after a delay could be answered after its sender has given up.
        try check(natsOptions_SetReconnectBufSize(pointer, 1), "the buffer option")
    }

    private func setIdentity(_ configuration: ReplicatedLogConfiguration) throws(ReplicatedLogError) {
        if configuration.usesTLS { try check(natsOptions_SetSecure(pointer, true), "TLS") }
        if let file = configuration.authority {
            try check(natsOptions_LoadCATrustedCertificates(pointer, file), "the authorities in '\(file)'")
        }
        if let certificate = configuration.certificate, let key = configuration.key {
            let status = natsOptions_LoadCertificatesChain(pointer, certificate, key)
            try check(status, "the certificate in '\(certificate)' with the key in '\(key)'")
        }
        if let file = configuration.credentials {
            // nats.c reads the file at each connection; a missing one is reported at the start.
            guard HostFile.exists(file) else { throw .rejected("the credentials '\(file)' do not exist") }
            try check(natsOptions_SetUserCredentialsFromFiles(pointer, file, nil), "the credentials in '\(file)'")
        }
    }

    private func check(_ status: natsStatus, _ subject: String) throws(ReplicatedLogError) {
        guard status == NATS_OK else {
            throw .misconfigured(["cannot use \(subject) for the log: \(NatsStatus.text(status))"])
        }
    }

    /// Connects to any of the servers; blocks.
    ///
    /// `events` receives the events of the connection.
    func connect(_ events: ConnectionEvents) throws(ReplicatedLogError) -> OpaquePointer {
        if let connection = try attempt(events) { return connection }
        // A server that is stopping ends connections in the same way, and a hub must not stay down for that.
        if let connection = try attempt(events) { return connection }
        throw .rejected(
            "it ended the connection after the TLS handshake; it may want a certificate that it trusts: check "
                + "'log-certificate' (\(servers.joined(separator: ", ")))"
        )
    }

    /// - Returns: `nil` if a server ended the connection after the TLS handshake.
    private func attempt(_ events: ConnectionEvents) throws(ReplicatedLogError) -> OpaquePointer? {
        let context = Unmanaged.passRetained(events)
        events.register(in: pointer, context.toOpaque())
        var connection: OpaquePointer?
        let status = natsConnection_Connect(&connection, pointer)
        guard status == NATS_OK, let connection else {
            let reason = NatsStatus.text(status)
            context.release()
            let list = servers.joined(separator: ", ")
            switch status {
            case NATS_CONNECTION_AUTH_FAILED, NATS_NOT_PERMITTED:
                throw .rejected("\(reason) (\(list))")
            case NATS_SSL_ERROR, NATS_SECURE_CONNECTION_WANTED, NATS_SECURE_CONNECTION_REQUIRED:
                throw .rejected("TLS: \(reason) (\(list))")
            // With TLS 1.3 a server refuses a certificate after the client's handshake: nats.c reads nothing, or an alert.
            case NATS_PROTOCOL_ERROR where usesTLS, NATS_IO_ERROR where usesTLS && reason.contains("alert"):
                return nil
            default: throw .unreachable("\(reason) (\(list))")
            }
        }
        return connection
    }
}
