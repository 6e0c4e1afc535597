import NocturneBatch
import NocturneCore
import NocturneSystem

/// A decoded volume on its stored grid, of a recipe without a model.
package struct PlainVolume: Sendable {
    let source: VolumeSource
    let volume: Volume
    let notes: [Note]

    /// - Parameter notFinite: what becomes of voxels that are NaN or infinite, for the note about them.
    /// - Throws: as `VolumeLoader`.
    init(_ source: VolumeSource, _ item: RecipeItem, _ context: StageContext, notFinite: Sentence) throws {
        let read = try VolumeLoader(source: source, path: item.path, scope: context.scope).load()
        var notes = read.notes
        if let (_, count) = read.nonFinite {
            notes.append(Note("volume.notFinite", "\(count) voxels are NaN or infinite; " + notFinite))
        }
        self.source = source
        volume = read.channels[0]
        self.notes = notes
    }
}
