import HubProtocol
import HubRouting
import HubStore

extension PnsFeedback {
    /// What is said of a target that was not sent a message.
    init(_ target: FailedTarget, on platform: Platform, of message: MessageID) {
        self.init(
            feedbackTime: target.at.date,
            notificationSystemError: target.failure.outcome,
            platform: MessageFormat(of: platform),
            pnsHandle: target.handle ?? ""
        )
        registrationID = target.registration
        installationID = target.installation
        notificationID = message
    }
}
