import Foundation
import HubTestServer
import OutboundHTTP
import Testing

/// A credential that was valid when it was configured, and is not any more.
@Suite struct ExpiredCredentialTests {
    @Test(.timeLimit(.minutes(10)))
    func `a hub starts with a certificate for APNs that has expired, and says so`() async throws {
        let scratch = try ScratchFolder()
        try scratch.write(ExpiredCertificate.pem, to: "apns.pem")
        try scratch.write(#"{"ApnsCertificateFile": "apns.pem"}"#, to: "apns.json")
        for file in ["apns.pem", "apns.json"] {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: scratch.file(file))
        }
        try scratch.write("hubs: {news: {credentials: {apns: apns.json}}}\n", to: "newswire.yaml")
        let environment = [
            "XDG_STATE_HOME": scratch.file("state"), "NEWSWIRE_CONFIG": scratch.file("newswire.yaml"),
        ]
        let reason = "ApnsCertificate expired on 2020-01-01"
        let hub = try await RunningProgram(["hub", "--port", "0"], environment: environment, folder: scratch.path)
        #expect(hub.isRunning, "\(hub.errors)")
        let listed = try await BuiltProgram.run(["hub", "credentials"], environment: environment)
        #expect(listed.status == 1 && listed.output.contains("apns  not usable  \(reason)"), "\(listed)")
        let check = try await BuiltProgram.run(["check", "hub"], environment: environment)
        #expect(check.errors.contains(reason), "\(check)")
        #expect(await hub.stop() == 0, "\(hub.errors)")
        #expect(hub.errors.contains(reason), "\(hub.errors)")
    }
}
