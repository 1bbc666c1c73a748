import Markup

/// The outcome of a test send: the answer to a send with `test`.
///
/// Source: protocol §5.2.
package struct NotificationOutcome: Sendable, Equatable {
    /// Maximum number of registrations that a test send is delivered to.
    package static let maximumResults = 10

    package let success: Int
    package let failure: Int
    package let results: [RegistrationResult]

    package init(success: Int, failure: Int, results: [RegistrationResult]) {
        self.success = success
        self.failure = failure
        self.results = results
    }

    /// All three elements are present, even without a result.
    package var xml: String {
        XMLDocumentText.document("NotificationOutcome") { document in
            document.add("Success", String(success))
            document.add("Failure", String(failure))
            document.add("Results") { list in
                for result in results { result.add(to: &list) }
            }
        }
    }

    /// Reads a hub's answer; `nil` for text that is not an outcome.
    package init?(xml text: String) {
        guard let root = TelemetryXML.root(of: text, named: "NotificationOutcome"),
            let success = root.first("Success").flatMap({ Int($0.text) }),
            let failure = root.first("Failure").flatMap({ Int($0.text) })
        else { return nil }
        self.success = success
        self.failure = failure
        results = (root.first("Results")?.all("RegistrationResult") ?? []).map { result in
            RegistrationResult(
                applicationPlatform: result.first("ApplicationPlatform")?.text ?? "",
                pnsHandle: result.first("PnsHandle")?.text ?? "",
                registrationID: result.first("RegistrationId").flatMap { $0.text.isEmpty ? nil : $0.text },
                outcome: result.first("Outcome")?.text ?? ""
            )
        }
    }
}

/// The outcome of a test send at one registration.
package struct RegistrationResult: Sendable, Equatable {
    /// The service's text for a success.
    package static let success = "The Notification was successfully sent to the Push Notification System"

    /// The format of messages for the platform, such as `apple`.
    package let applicationPlatform: String
    package let pnsHandle: String
    /// `nil` for a handle of a direct send.
    package let registrationID: String?
    /// A sentence.
    package let outcome: String

    package init(applicationPlatform: String, pnsHandle: String, registrationID: String?, outcome: String) {
        self.applicationPlatform = applicationPlatform
        self.pnsHandle = pnsHandle
        self.registrationID = registrationID
        self.outcome = outcome
    }

    /// All four elements are present: .NET requires the first three, and JS the id.
    fileprivate func add(to list: inout XMLDocumentText) {
        list.add("RegistrationResult") { result in
            result.addAlways("ApplicationPlatform", applicationPlatform)
            result.addAlways("PnsHandle", pnsHandle)
            result.addAlways("RegistrationId", registrationID ?? "")
            result.addAlways("Outcome", outcome)
        }
    }
}
