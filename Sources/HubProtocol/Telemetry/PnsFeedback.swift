package import FoundationEssentials

/// A push service's report on a handle: one row of the files in a feedback container, and of a message's error details.
///
/// Source: protocol §5.7; `ParseFeedbackSample` in Azure/azure-notificationhubs-dotnet.
package struct PnsFeedback: Sendable, Equatable {
    package let feedbackTime: Date
    package let notificationSystemError: OutcomeName
    /// The platform by the name of its format, such as `apple`.
    package let platform: MessageFormat
    package let pnsHandle: String
    package var registrationID: RegistrationID?
    package var installationID: InstallationID?
    package var notificationID: MessageID?
    /// The handle that replaces this one at the push service.
    package var newPnsHandle: String?

    package init(
        feedbackTime: Date,
        notificationSystemError: OutcomeName,
        platform: MessageFormat,
        pnsHandle: String
    ) {
        self.feedbackTime = feedbackTime
        self.notificationSystemError = notificationSystemError
        self.platform = platform
        self.pnsHandle = pnsHandle
    }

    /// A row: readers parse each line as a document.
    package var line: String { xml + "\n" }

    package var xml: String {
        XMLDocumentText.document("PnsFeedback") { document in
            document.add("FeedbackTime", ISODateTime.format(feedbackTime))
            document.add("NotificationSystemError", notificationSystemError.rawValue)
            document.add("Platform", platform.rawValue)
            // Microsoft's sample fails without it.
            document.addAlways("PnsHandle", pnsHandle)
            document.add("RegistrationId", registrationID?.text)
            document.add("InstallationId", installationID?.text)
            document.add("NotificationId", notificationID?.text)
            document.add("NewPnsHandle", newPnsHandle)
        }
    }
}
