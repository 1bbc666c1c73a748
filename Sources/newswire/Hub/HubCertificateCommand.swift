import ArgumentParser
import Certificates
import Foundation
import HostSystem
import HubProtocol
import NetworkAddresses
import Settings

struct HubCertificateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate",
        abstract: "Show the hub's TLS certificate, and how to make clients trust it.",
        discussion: """
            The hub creates its own certificate authority at its first start, and keeps it; clients trust it once. The \
            hub's certificate is renewed automatically. --pem prints only the authority's certificate, for other \
            machines.

            EXAMPLES
              newswire hub certificate
              ssh nas newswire hub certificate --pem > hub-ca.pem
              newswire subscribe --categories World --connection-file hub.connection --ca-file hub-ca.pem
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Flag(help: "Print the authority's certificate in PEM.")
    var pem = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if pem, json { throw ValidationError("--pem and --json cannot be combined") }
    }

    func run() async throws {
        let settings = try stateOptions.configuration.load()
        let state = try stateOptions.existing(settings)
        if let certificate = settings.value(HubSettings.tlsCertificate) {
            try show(given: certificate, settings)
        } else {
            try show(own: state, settings)
        }
    }

    // MARK: - The hub's own authority

    private struct ShownAuthority: Encodable {
        let authorityFile: String
        let authority: ShownCertificate
        let certificate: ShownCertificate?
        /// The page that explains readers how to trust it; absent without pages.
        let page: String?
        let commands: [TrustCommand]
    }

    private struct ShownCertificate: Encodable {
        let subject: String
        let names: [String]
        let validFrom: Date
        let validUntil: Date
        let sha256: String

        init(_ facts: CertificateFacts) {
            subject = facts.subject
            names = facts.names
            validFrom = facts.notBefore
            validUntil = facts.notAfter
            sha256 = facts.fingerprint
        }
    }

    private func show(own state: StateDirectory, _ settings: Settings) throws {
        let path = LocalCertificates.authorityPath(in: state.path)
        guard HostFile.exists(path) else {
            throw stateOptions.noHub(in: state, "there is no authority in")
        }
        let authority = try CertificateFacts.read(path)
        if pem { return Console.print(authority.text.trimmingCharacters(in: .newlines)) }
        // The hub's, else that of a separate app backend.
        let servers = [LocalCertificates.serverName, HubFiles.backendCertificate].map(state.file)
        let certificate = try servers.first(where: HostFile.exists).map { try CertificateFacts.read($0).facts }
        let endpoint = try directAddress(state, settings)
        let commands = TrustCommand.all(authority: path, endpoint: endpoint)
        let hub = try HubName(given: settings.value(HubSettings.name))
        let page = settings.value(HubSettings.pages) == .off ? nil : "\(endpoint)-/\(hub)/certificate"
        if json {
            let shown = ShownAuthority(
                authorityFile: path,
                authority: ShownCertificate(authority.facts),
                certificate: certificate.map(ShownCertificate.init),
                page: page,
                commands: commands
            )
            return Console.print(try JSON.line(shown))
        }
        Console.print("authority    \(path)")
        Console.print("             \(authority.facts.subject), until \(Self.day(authority.facts.notAfter))")
        Console.print("fingerprint  SHA-256 \(authority.facts.fingerprint)")
        if let certificate {
            let end = "until \(Self.day(certificate.notAfter)), renewed automatically"
            Console.print("certificate  \(certificate.names.joined(separator: ", ")); \(end)")
        }
        if let page { Console.print("for readers  \(page) explains how browsers trust it") }
        Console.print("")
        Console.print("How to make a client trust it; on another machine, use a copy of the file (--pem prints it):")
        for command in commands {
            Console.print("")
            Console.print("# \(command.client)\(command.note.map { ": \($0)" } ?? "")")
            if let error = command.errorWithout { Console.print("# without it: \(error)") }
            for line in command.lines { Console.print(line) }
        }
    }

    /// Returns the address at which clients meet the hub's own certificate; a proxy has another.
    private func directAddress(_ state: StateDirectory, _ settings: Settings) throws -> String {
        let proxies = settings.value(HubSettings.trustedProxies) ?? []
        guard let address = settings.value(HubSettings.publicAddress),
            PublicAddress.configured(address).isOfProxy(trusted: proxies, listen: settings.value(HubSettings.listen)),
            let name = settings.value(HubSettings.hostNames)?.first ?? address.hostName,
            let port = URLComponents(string: try HubFiles.localEndpoint(in: state))?.port
        else { return try HubFiles.webAddress(in: state.path) }
        return "https://\(PublicAddress.own(name).authority(port: port))/"
    }

    // MARK: - A configured certificate

    private struct ShownFiles: Encodable {
        let certificateFile: String
        let issuer: String
        let certificate: ShownCertificate
    }

    private func show(given path: String, _ settings: Settings) throws {
        let facts = try CertificateFacts.read(path).facts
        if pem {
            throw Failure(
                .badConfiguration,
                "the hub uses the certificate of 'tls-certificate', '\(path)', which another authority has signed",
                hint: "clients must trust '\(facts.issuer)'; most know the public ones"
            )
        }
        if json {
            let shown = ShownFiles(
                certificateFile: path,
                issuer: facts.issuer,
                certificate: ShownCertificate(facts)
            )
            return Console.print(try JSON.line(shown))
        }
        Console.print("certificate  \(path)")
        Console.print("             \(facts.names.joined(separator: ", ")); until \(Self.day(facts.notAfter))")
        Console.print("issuer       \(facts.issuer)")
        Console.print("fingerprint  SHA-256 \(facts.fingerprint)")
        Console.print("")
        Console.print("Clients must trust its issuer; most know the public ones.")
    }

    private static func day(_ date: Date) -> String { ISODateTime.formatDay(date) }
}
