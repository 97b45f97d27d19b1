import Dispatch
import PushmillStages

/// Keeps the folder within its bounds, once an hour and when much has come, and looks at its disk.
final class Caretaker: Sendable {
    private let folder: MediaFolder
    private let settings: MediaSettings
    private let queue = DispatchQueue(label: "pushmill.media.tidy", qos: .utility)
    private let onGone: @Sendable (Set<String>) -> Void

    init(_ folder: MediaFolder, _ settings: MediaSettings, onGone: @escaping @Sendable (Set<String>) -> Void) {
        self.folder = folder
        self.settings = settings
        self.onGone = onGone
        folder.room.watch { [weak self] in self?.tidySoon() }
    }

    /// Begins, until the caretaker is let go of.
    func start() { queue.async { [weak self] in self?.look(0) } }

    private func look(_ minute: Int) {
        if minute % 60 == 0 { tidy() } else { folder.room.askDisk() }
        queue.asyncAfter(deadline: .now() + 60) { [weak self] in self?.look(minute + 1) }
    }

    private func tidySoon() { queue.async { [weak self] in self?.tidy() } }

    private func tidy() {
        let gone = folder.tidy(age: settings.age, capacity: settings.capacity)
        if !gone.isEmpty { onGone(gone) }
    }
}
