import Crypto
import Foundation
import NetworkAddresses
import SwiftASN1
import Testing
import X509

@testable import Certificates

@Suite struct CertificateFilesTests {
    private let folder: Folder
    private let files: CertificateFiles

    init() throws {
        folder = try Folder()
        files = CertificateFiles(certificate: folder.file("chain.pem"), key: folder.file("key.pem"))
        try write(to: folder)
    }

    /// Another certificate with its key.
    private func write(to folder: Folder, at now: Date = .today) throws {
        let identity = try CertificateAuthority(host: "x", now: now)
            .issue(for: [HostName("hub.example.org")].compactMap(\.self), now: now)
        try folder.write(identity.chain, to: "chain.pem")
        try folder.write(identity.privateKey, to: "key.pem")
    }

    @Test func `a chain and its key are taken as they are`() throws {
        let identity = try files.identity(at: .today)
        #expect(identity.facts.names == ["hub.example.org"])
        #expect(identity.renewAt == nil)
        let chain = try folder.text("chain.pem")
        // With what openssl writes beside them, in one file.
        let curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        try folder.write("subject=x\n\(chain)\(chain)\(curve)\(try folder.text("key.pem"))", to: "all.pem")
        let all = CertificateFiles(certificate: folder.file("all.pem"), key: folder.file("all.pem"))
        let second = try all.identity(at: .today)
        #expect(second.chain.components(separatedBy: "-----BEGIN CERTIFICATE-----").count == 3)
        #expect(!second.chain.contains("PRIVATE"))
        #expect(second.facts == identity.facts)
    }

    @Test func `keys of the usual kinds are read`() throws {
        let keys = [
            P384.Signing.PrivateKey().pemRepresentation, P521.Signing.PrivateKey().pemRepresentation,
            P256.Signing.PrivateKey().pemRepresentation,
            // openssl genpkey -algorithm ed25519
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIO1PVguhp+zns0fbVqfhgzX80l11vcjcQNa5LXt5a4nO\n-----END PRIVATE KEY-----\n",
        ]
        for key in keys { #expect(throws: Never.self) { try PEMText.key(key, path: "k") } }
    }

    @Test func `what is wrong is said, with the file that is to be changed`() throws {
        let other = try Folder()
        try write(to: other)
        let chain = try folder.text("chain.pem")
        let key = try folder.text("key.pem")
        let cases: [(chain: String?, key: String?, says: String)] = [
            (nil, key, "cannot open '\(folder.file("chain.pem"))': no such file or directory"),
            (chain, nil, "cannot open '\(folder.file("key.pem"))': no such file or directory"),
            ("hello", key, "chain.pem': there is no certificate in it"),
            (key, key, "chain.pem': there is no certificate in it"),
            (chain, chain, "key.pem': there is no private key in it"),
            (chain, key + key, "key.pem': there are 2 private keys in it"),
            (chain, try other.text("key.pem"), "key.pem': it is not the key of the first certificate in"),
            (
                chain, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
                "key.pem': the key is encrypted"
            ),
            (
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", key,
                "chain.pem': certificate 1 in it cannot be read"
            ),
        ]
        for wrong in cases {
            for (name, text) in [("chain.pem", wrong.chain), ("key.pem", wrong.key)] {
                if let text {
                    try folder.write(text, to: name)
                } else {
                    try FileManager.default.removeItem(atPath: folder.file(name))
                }
            }
            let problem = #expect(throws: CertificateProblem.self) { try files.identity(at: .today) }
            #expect(problem?.description.contains(wrong.says) == true, "\(problem.map { "\($0)" } ?? "")")
            #expect(problem?.description.contains("\n") == false)
        }
    }

    @Test func `a certificate that is not valid now is refused, with the day`() throws {
        let late = #expect(throws: CertificateProblem.self) { try files.identity(at: .today.days(400)) }
        #expect(late?.reason == "the certificate expired on 2028-02-15")
        let early = #expect(throws: CertificateProblem.self) { try files.identity(at: .today.days(-2)) }
        #expect(early?.reason == "the certificate is not valid before 2027-01-14")
    }

    @Test func `a watch gives a certificate once, and again when a file has changed`() throws {
        var watch = CertificateWatch(.files(files))
        let first = try #require(try watch.look(at: .today))
        #expect(try watch.look(at: .today) == nil)
        try write(to: folder)
        let second = try #require(try watch.look(at: .today))
        #expect(second.facts.fingerprint != first.facts.fingerprint)
        #expect(try watch.look(at: .today) == nil)
        try folder.write("broken", to: "chain.pem")
        for _ in 0..<2 { #expect(throws: CertificateProblem.self) { try watch.look(at: .today) } }
        try write(to: folder)
        #expect(try watch.look(at: .today) != nil)
    }

    @Test func `a watch of a local certificate gives the renewed one`() throws {
        var watch = CertificateWatch(.local(try folder.local()))
        let first = try #require(try watch.look(at: .today))
        #expect(try watch.look(at: .today.days(200)) == nil)
        let second = try #require(try watch.look(at: .today.days(300)))
        #expect(second.facts.fingerprint != first.facts.fingerprint)
        #expect(try watch.look(at: .today.days(301)) == nil)
    }

    @Test(arguments: [
        ("hub.example.org", true), ("HUB.example.org.", true), ("other.example.org", false), ("example.org", false),
    ])
    func `names are compared as clients compare them`(_ host: String, _ isCovered: Bool) throws {
        #expect(try files.identity(at: .today).facts.covers(try #require(HostName(host))) == isCovered)
    }

    @Test func `a file of authorities is looked at`() throws {
        #expect(CertificateFiles.authorityProblem(folder.file("chain.pem")) == nil)
        #expect(CertificateFiles.authorityProblem(folder.file("key.pem"))?.reason == "there is no certificate in it")
        #expect(CertificateFiles.authorityProblem(folder.file("none")) != nil)
    }
}
