import ArgumentParser
import Certificates
import Formats
import Foundation
import HostSystem
import HubProtocol
import NetworkAddresses
import Settings
import WebPages

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

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Flag(help: "Print the authority's certificate in PEM.")
    var pem = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if pem, json { throw ValidationError("--pem and --json cannot be combined") }
    }

    func run() async throws {
        let settings = try configuration.load()
        let state = try HubState.existing(settings)
        if let certificate = settings.value(HubSettings.tlsCertificate) {
            try show(given: certificate, settings)
        } else {
            try show(own: state, settings)
        }
    }

    // MARK: - The hub's own authority

    private static func json(_ facts: CertificateFacts) -> JSONText {
        [
            "names": JSONText(strings: facts.names), "sha256": JSONText(facts.fingerprint),
            "subject": JSONText(facts.subject), "validFrom": JSONText(ISODateTime.formatSeconds(facts.notBefore)),
            "validUntil": JSONText(ISODateTime.formatSeconds(facts.notAfter)),
        ]
    }

    private func show(own state: StateDirectory, _ settings: Settings) throws {
        let path = LocalCertificates.authorityPath(in: state.path)
        guard HostFile.exists(path) else {
            throw HubState.noHub(in: state, settings, "there is no authority in")
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
            let members: JSONText = [
                "authority": Self.json(authority.facts), "authorityFile": JSONText(path),
                "certificate": certificate.map(Self.json), "commands": JSONText(array: commands.map(\.json)),
                // The page that tells readers how to trust the certificate; absent without pages.
                "page": JSONText(page),
            ]
            return Console.print(JSON.line(members))
        }
        let facts = [
            ReportFact("Authority", "\(path)\n\(authority.facts.subject), until \(Self.day(authority.facts.notAfter))"),
            ReportFact("Fingerprint", "SHA-256 \(authority.facts.fingerprint)"),
            ReportFact(
                "Certificate",
                certificate.map {
                    "\($0.names.joined(separator: ", ")); until \(Self.day($0.notAfter)), renewed automatically"
                }
            ), ReportFact("For readers", page.map { "\($0) explains how browsers trust it" }),
        ]
        Console.show(.facts(facts.compactMap(\.self)))
        let advice = "How to make a client trust it; on another machine, use a copy of the file (--pem prints it):"
        Console.show(.lines(["", advice] + commands.flatMap { [""] + $0.text }))
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

    private func show(given path: String, _ settings: Settings) throws {
        let facts = try CertificateFacts.read(path).facts
        if pem {
            throw Failure(
                .badConfiguration,
                "the hub uses the certificate of 'tls-certificate', '\(path)', which another authority has signed",
                hint: "clients must trust '\(facts.issuer)'; most know the public ones"
            )
        }
        let members: JSONText = [
            "certificate": Self.json(facts), "certificateFile": JSONText(path), "issuer": JSONText(facts.issuer),
        ]
        let names = "\(facts.names.joined(separator: ", ")); until \(Self.day(facts.notAfter))"
        let text = [
            ReportFact("Certificate", "\(path)\n\(names)"), ReportFact("Issuer", facts.issuer),
            ReportFact("Fingerprint", "SHA-256 \(facts.fingerprint)"),
        ]
        Console.show(members, asJSON: json, .facts(text.compactMap(\.self)))
        if !json { Console.show(.lines(["", "Clients must trust its issuer; most know the public ones."])) }
    }

    private static func day(_ date: Date) -> String { ISODateTime.formatDay(date) }
}
