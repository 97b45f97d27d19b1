import Dispatch
import Push
import Synchronization

/// Keeps the folder within its bounds: once an hour, and when much has come.
final class Caretaker: Sendable {
    private let folder: MediaFolder
    private let settings: MediaSettings
    private let queue = DispatchQueue(label: "pushmill.media.tidy", qos: .utility)
    /// Bytes kept since the last time.
    private let added = Atomic<Int>(0)
    private let onGone: @Sendable (Set<String>) -> Void

    init(_ folder: MediaFolder, _ settings: MediaSettings, onGone: @escaping @Sendable (Set<String>) -> Void) {
        self.folder = folder
        self.settings = settings
        self.onGone = onGone
    }

    /// Begins, until the caretaker is let go of.
    func start() {
        queue.async { [weak self] in
            guard let self else { return }
            tidy()
            again()
        }
    }

    private func again() {
        queue.asyncAfter(deadline: .now() + 3600) { [weak self] in self?.start() }
    }

    /// Media has been kept.
    func note(_ media: Media) {
        let share = settings.capacity / 50
        let (before, now) = added.add(media.size ?? 0, ordering: .relaxed)
        if before < share, now >= share { queue.async { self.tidy() } }
    }

    private func tidy() {
        added.store(0, ordering: .relaxed)
        let gone = folder.tidy(age: settings.age, capacity: settings.capacity)
        if !gone.isEmpty { onGone(gone) }
    }
}
