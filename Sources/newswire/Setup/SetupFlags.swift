import ArgumentParser
import HostSystem
import HubProtocol
import NetworkAddresses

/// The answers as flags.
struct SetupFlags: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The name by which other machines reach this one, or 'none'.",
            valueName: "name"
        )
    )
    var hostName: String?

    @Option(
        help: ArgumentHelp(
            "'own', 'proxy', or the paths of a certificate and its key with a space between them.",
            valueName: "certificate"
        )
    )
    var certificate: String?

    @Option(help: ArgumentHelp("Who may read the pages: public, invited or off.", valueName: "word"))
    var pages: String?

    @Option(
        name: .customLong("categories"),
        help: ArgumentHelp(
            "'all', some categories with commas between them, or the path of an OPML file to add.",
            valueName: "names|path"
        )
    )
    var feeds: String?

    @Option(
        name: .customLong("push-contact"),
        help: ArgumentHelp("The e-mail address for browsers' push services, or 'none'.", valueName: "address")
    )
    var contact: String?

    @Flag(
        name: .customLong("operator-link"),
        inversion: .prefixedNo,
        help: "Make a link with which a browser can manage the hub."
    )
    var operatorLink: Bool?

    var isEmpty: Bool {
        [hostName, certificate, pages, feeds, contact].allSatisfy { $0 == nil } && operatorLink == nil
    }

    /// Returns answers in which these flags count.
    ///
    /// - Throws: ``Failure`` 64 for a value that cannot be used.
    func applied(to answers: SetupAnswers) throws -> SetupAnswers {
        var answers = answers
        func read<Value>(
            _ flag: String,
            _ text: String?,
            _ reader: (String) throws(SetupMistake) -> Value
        ) throws -> Value? {
            guard let text else { return nil }
            do throws(SetupMistake) {
                return try reader(text)
            } catch {
                throw Failure(.usage, "\(flag): \(error)")
            }
        }
        if let name = try read("--host-name", hostName, SetupReading.hostName) { answers.hostName = name }
        if let value = try read("--certificate", certificate, SetupReading.certificate) { answers.certificate = value }
        if let value = try read("--pages", pages, SetupReading.pages) { answers.pages = value }
        if let value = try read("--categories", feeds, SetupReading.feeds) { answers.feeds = value }
        if let value = try read("--push-contact", contact, SetupReading.contact) { answers.contact = value }
        answers.wantsOperatorLink = operatorLink ?? answers.wantsOperatorLink
        return answers
    }
}
