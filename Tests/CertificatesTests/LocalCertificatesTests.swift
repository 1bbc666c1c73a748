import Foundation
import HostSystem
import NetworkAddresses
import SwiftASN1
import Testing
import X509

@testable import Certificates

/// The state directory of a hub.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "certificates-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
    }

    func local(_ names: [String] = ["localhost", "127.0.0.1", "::1", "nas.example.org"]) throws -> LocalCertificates {
        LocalCertificates(directory: path, names: try names.map { try #require(HostName($0)) })
    }

    /// The authority and the certificate as X.509 has them.
    func certificates() throws -> (authority: Certificate, server: Certificate) {
        let server = try text(LocalCertificates.serverName)
        let end = try #require(server.range(of: "-----END CERTIFICATE-----")?.upperBound)
        return (
            try Certificate(pemEncoded: try text(LocalCertificates.authorityName)),
            try Certificate(pemEncoded: String(server[..<end]))
        )
    }
}

extension Date {
    static let today = Date(timeIntervalSince1970: 1_800_000_000)

    func days(_ days: Double) -> Date { addingTimeInterval(days * 86_400) }
}

@Suite struct LocalCertificatesTests {
    private let folder: Folder

    init() throws {
        folder = try Folder()
    }

    @Test func `two servers of one directory share the authority and nothing else`() throws {
        let hub = try folder.local()
        let other = LocalCertificates(
            directory: folder.path,
            names: [try #require(HostName("push.example.org"))],
            serverName: "other.pem"
        )
        let first = try hub.identity(at: Date())
        let file = try folder.text(LocalCertificates.serverName)
        let second = try other.identity(at: Date())
        #expect(second.facts.names == ["push.example.org"])
        let authority = try Certificate(pemEncoded: try folder.text(LocalCertificates.authorityName))
        for name in [LocalCertificates.serverName, "other.pem"] {
            let text = try folder.text(name)
            let end = try #require(text.range(of: "-----END CERTIFICATE-----")?.upperBound)
            #expect(try Certificate(pemEncoded: String(text[..<end])).issuer == authority.subject)
        }
        // Neither replaces the other's at its next start.
        #expect(try hub.identity(at: Date()).chain == first.chain)
        #expect(try other.identity(at: Date()).chain == second.chain)
        #expect(try folder.text(LocalCertificates.serverName) == file)
    }

    @Test func `the first start makes an authority and a certificate that verify as clients verify them`() async throws
    {
        let identity = try folder.local().identity(at: Date())
        #expect(identity.facts.names == ["localhost", "127.0.0.1", "::1", "nas.example.org"])
        let (authority, server) = try folder.certificates()
        for (name, address) in [("localhost", nil), ("nas.example.org", nil), (nil, "127.0.0.1"), (nil, "::1")] {
            var verifier = Verifier(rootCertificates: CertificateStore([authority])) {
                RFC5280Policy()
                ServerIdentityPolicy(serverHostname: name, serverIP: address)
            }
            let result = await verifier.validate(leaf: server, intermediates: CertificateStore())
            guard case .validCertificate = result else {
                Issue.record("\(name ?? address ?? ""): \(result)")
                continue
            }
        }
        var unconstrained = Verifier(rootCertificates: CertificateStore([authority])) {
            RFC5280Policy()
            ServerIdentityPolicy(serverHostname: "other.example.org", serverIP: nil)
        }
        if case .validCertificate = await unconstrained.validate(leaf: server, intermediates: CertificateStore()) {
            Issue.record("another name was accepted")
        }
    }

    @Test func `authority and certificate say what strict clients look for`() throws {
        _ = try folder.local().identity(at: .today)
        let (authority, server) = try folder.certificates()
        #expect(try authority.extensions.basicConstraints == .isCertificateAuthority(maxPathLength: 0))
        #expect(try authority.extensions.keyUsage == KeyUsage(keyCertSign: true, cRLSign: true))
        #expect(authority.subject.description.contains("newswire authority"))
        #expect(authority.subject.description.contains("nas.example.org"))
        #expect(authority.notValidAfter == .today.days(3_650))
        #expect(try server.extensions.basicConstraints == .notCertificateAuthority)
        #expect(try server.extensions.keyUsage == KeyUsage(digitalSignature: true))
        #expect(try server.extensions.extendedKeyUsage == ExtendedKeyUsage([.serverAuth]))
        let authorityID = try #require(try authority.extensions.subjectKeyIdentifier)
        #expect(try server.extensions.authorityKeyIdentifier?.keyIdentifier == authorityID.keyIdentifier)
        #expect(try server.extensions.subjectKeyIdentifier != nil)
        #expect(server.notValidBefore < .today)
        #expect(server.notValidAfter.timeIntervalSince(server.notValidBefore) <= 397 * 86_400)
        // An INTEGER of at most 20 octets that is not negative.
        for certificate in [authority, server] { #expect(certificate.serialNumber.bytes.count == 16) }
    }

    @Test func `keys are for the hub's user only, and the authority's file for everybody`() throws {
        _ = try folder.local().identity(at: .today)
        #expect(try HostFile.permissions(folder.file(LocalCertificates.authorityKeyName)) == 0o600)
        #expect(try HostFile.permissions(folder.file(LocalCertificates.serverName)) == 0o600)
        #expect(try HostFile.permissions(folder.file(LocalCertificates.authorityName)) == 0o644)
        #expect(try !folder.text(LocalCertificates.authorityName).contains("PRIVATE"))
    }

    @Test func `a certificate is kept until a third of its life is left, and then renewed by the same authority`()
        throws
    {
        let local = try folder.local()
        let first = try local.identity(at: .today)
        #expect(try local.identity(at: .today.days(260)).facts == first.facts)
        let authority = try folder.text(LocalCertificates.authorityName)
        let second = try local.identity(at: .today.days(266))
        #expect(second.facts.fingerprint != first.facts.fingerprint)
        #expect(second.facts.notAfter > first.facts.notAfter.days(200))
        #expect(second.privateKey != first.privateKey)
        #expect(try folder.text(LocalCertificates.authorityName) == authority)
    }

    @Test func `other names make another certificate of the same authority`() throws {
        let first = try folder.local().identity(at: .today)
        let authority = try folder.text(LocalCertificates.authorityName)
        let second = try folder.local(["hub.example.org"]).identity(at: .today)
        #expect(second.facts.names == ["hub.example.org"])
        #expect(second.facts.issuer == first.facts.issuer)
        #expect(try folder.text(LocalCertificates.authorityName) == authority)
    }

    @Test func `what is not this authority's is replaced`() throws {
        let other = try Folder()
        _ = try other.local().identity(at: .today)
        let first = try folder.local().identity(at: .today)
        for text in [try other.text(LocalCertificates.serverName), "nonsense", ""] {
            try folder.write(text, to: LocalCertificates.serverName)
            let again = try folder.local().identity(at: .today)
            #expect(again.facts.issuer == first.facts.issuer)
            #expect(again.facts.fingerprint != first.facts.fingerprint)
        }
    }

    @Test func `an authority without its key is not replaced, since clients trust it`() throws {
        _ = try folder.local().identity(at: .today)
        let authority = try folder.text(LocalCertificates.authorityName)
        try FileManager.default.removeItem(atPath: folder.file(LocalCertificates.authorityKeyName))
        let problem = #expect(throws: CertificateProblem.self) { try folder.local().identity(at: .today) }
        #expect(problem?.description.contains("ca-key.pem': the file does not exist; put it back") == true)
        #expect(LocalCertificates.problem(in: folder.path) == problem)
        #expect(try folder.text(LocalCertificates.authorityName) == authority)
        let other = try Folder()
        _ = try other.local().identity(at: .today)
        try folder.write(try other.text(LocalCertificates.authorityKeyName), to: LocalCertificates.authorityKeyName)
        let wrong = #expect(throws: CertificateProblem.self) { try folder.local().identity(at: .today) }
        #expect(wrong?.reason.contains("it is not the key of") == true)
    }

    @Test func `a key alone, left by an interrupted first start, is not an authority`() throws {
        try folder.write("half a key", to: LocalCertificates.authorityKeyName)
        #expect(LocalCertificates.problem(in: folder.path) == nil)
        #expect(throws: Never.self) { try folder.local().identity(at: .today) }
    }

    @Test func `a clock that was wrong at the first start makes nothing that lasts for ever or not at all`() throws {
        for wrong in [Date(timeIntervalSince1970: 0), Date.today.days(1_000)] {
            let folder = try Folder()
            let local = try folder.local()
            _ = try local.identity(at: wrong)
            // Not at each look.
            let kept = try local.identity(at: wrong)
            #expect(try local.identity(at: wrong).facts == kept.facts)
            let repaired = try local.identity(at: .today)
            #expect(repaired.facts.notBefore < .today && repaired.facts.notAfter > .today.days(300))
            let (authority, _) = try folder.certificates()
            #expect(authority.notValidBefore < .today && authority.notValidAfter > .today.days(1_000))
        }
    }

    @Test func `a certificate of a clock that was ahead is replaced when the clock is right, and says so`() throws {
        let local = try folder.local()
        let ahead = try local.identity(at: .today.days(300))
        #expect(ahead.corrections == [])
        var watch = CertificateWatch(.local(local))
        let repaired = try #require(try watch.look(at: .today))
        #expect(repaired.corrections == [.server(validFrom: ahead.facts.notBefore)])
        #expect(repaired.facts.notBefore < .today)
        #expect(try watch.look(at: .today) == nil)
        #expect(try local.identity(at: .today).corrections == [])
    }

    @Test func `an authority that is not valid yet is signed again with its key and name`() async throws {
        let local = try folder.local()
        _ = try local.identity(at: .today)
        let key = try folder.text(LocalCertificates.authorityKeyName)
        let (made, _) = try folder.certificates()
        // As another program may have made it.
        let ahead = try Certificate(
            version: .v3,
            serialNumber: .init(),
            publicKey: made.publicKey,
            notValidBefore: .today.days(100),
            notValidAfter: .today.days(3_000),
            issuer: made.issuer,
            subject: made.subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: made.extensions,
            issuerPrivateKey: .init(pemEncoded: key)
        )
        try folder.write(try ahead.serializeAsPEM().pemString, to: LocalCertificates.authorityName)
        let identity = try local.identity(at: .today)
        #expect(identity.corrections.contains(.authority(validFrom: ahead.notValidBefore)))
        let (again, server) = try folder.certificates()
        #expect(again.publicKey == made.publicKey && again.subject == made.subject)
        #expect(again.notValidBefore < .today && again.notValidAfter == .today.days(3_650))
        #expect(again.publicKey.isValidSignature(server.signature, for: server))
        #expect(try HostFile.permissions(folder.file(LocalCertificates.authorityName)) == 0o644)
        #expect(try local.identity(at: .today).corrections == [])
        #expect(try folder.text(LocalCertificates.authorityKeyName) == key)
    }

    @Test func `no certificate outlives its authority, and the last one is not renewed over and over`() throws {
        let local = try folder.local()
        _ = try local.identity(at: .today)
        let last = try local.identity(at: .today.days(3_640))
        let (authority, _) = try folder.certificates()
        #expect(last.facts.notAfter == authority.notValidAfter)
        #expect(try local.identity(at: .today.days(3_649)).facts == last.facts)
    }
}
