import Foundation
import HostSystem
import HubProtocol
import NetworkAddresses

/// The questions of 'newswire setup', at most six, on a terminal.
struct SetupDialogue {
    /// Attempts at one question: whoever cannot answer needs the documentation, and a file as input must come to an end.
    private static let attempts = 5

    /// The categories of the present feed lists.
    let categories: [String]
    /// A name of this machine that others may know.
    let suggestedName: HostName?
    /// The answers that flags have given, whose questions are left out.
    let given: SetupFlags

    /// - Throws: ``Failure`` 64 if standard input ends, or an answer stays wrong.
    func ask(_ present: SetupAnswers) throws -> SetupAnswers {
        var answers = present
        Console.notice("up to six questions; Enter takes what is in brackets, and Control-C ends without a change")
        if given.hostName == nil {
            answers.hostName = try question(
                "By which host name do other machines reach this one? '\(SetupReading.none)': not at all",
                (present.hostName ?? suggestedName).map { "\($0)" } ?? SetupReading.none,
                SetupReading.hostName
            )
        }
        if answers.hostName != nil, given.certificate == nil {
            answers.certificate = try question(
                """
                Which certificate? 'own': of the hub's own authority; 'proxy': a web server on this machine has one; \
                or the paths of a certificate and its key
                """,
                Self.text(present.certificate),
                SetupReading.certificate
            )
        }
        if given.pages == nil {
            answers.pages = try question(
                "Who may read the news in browsers? 'public': everybody; 'invited': with a link from you; 'off': nobody",
                (present.pages ?? .invited).rawValue,
                SetupReading.pages
            )
        }
        if given.feeds == nil {
            let list = categories.isEmpty ? "none yet" : categories.joined(separator: ", ")
            answers.feeds = try question(
                "Which categories? 'all' (\(list)), some of them with commas, or the path of an OPML file to add",
                "all",
                SetupReading.feeds
            )
        }
        if given.contact == nil {
            answers.contact = try question(
                """
                Notifications of browsers need an e-mail address at which push services reach you; \
                '\(SetupReading.none)': no notifications
                """,
                present.contact ?? SetupReading.none,
                SetupReading.contact
            )
        }
        if given.operatorLink == nil {
            answers.wantsOperatorLink = try question(
                "Make a link with which a browser can manage the hub, yes or no?",
                "yes",
                SetupReading.decision
            )
        }
        return answers
    }

    private func question<Value>(
        _ text: String,
        _ standard: String,
        _ read: (String) throws(SetupMistake) -> Value
    ) throws -> Value {
        for _ in 1...Self.attempts {
            guard let line = Console.ask("\(text) [\(standard)] ") else {
                throw Failure(.usage, "there is no answer: standard input has ended; nothing was changed")
            }
            let answer = line.trimmingCharacters(in: .whitespaces)
            do throws(SetupMistake) {
                return try read(answer.isEmpty ? standard : answer)
            } catch {
                Console.error("\(error)")
            }
        }
        throw Failure(.usage, "no answer can be used; nothing was changed", hint: "see 'newswire setup --help'")
    }

    private static func text(_ certificate: SetupAnswers.Certificate) -> String {
        switch certificate {
        case .own: "own"
        case .proxy: "proxy"
        case .files(let certificate, let key): "\(certificate) \(key)"
        }
    }
}
