public import NocturneSystem

/// Why inputs are refused or set aside, whatever their format.
extension FaultCode {
    /// The format is none that the batch's models read.
    public static let unknownFormat = FaultCode("input", "unknownFormat")
    /// A photo, where all models take volumes.
    public static let photo = FaultCode("input", "isPhoto")
    /// A volume or a part of one, where all models take photos.
    public static let volume = FaultCode("input", "isVolume")
    /// The file has no bytes.
    public static let emptyFile = FaultCode("input", "empty")
    /// A pipe, a socket, a device or a dangling link.
    public static let notAFile = FaultCode("input", "notAFile")
    /// The name is not valid UTF-8, differs from another one only in how letters are encoded, or makes the path too long.
    public static let unusableName = FaultCode("input", "unusableName")
    /// This user may not read the file or folder, or the disk failed.
    public static let unreadable = FaultCode("input", "unreadable")
    /// The disk or network share did not answer in time.
    public static let unresponsive = FaultCode("input", "notResponding")
    /// The engine crashed twice while it read the file.
    public static let crashesReader = FaultCode("input", "crashesReader")
    /// The output folder of another batch.
    public static let otherBatch = FaultCode("input", "otherBatch")
    /// No pattern of the model's `--only` matches it.
    public static let notSelected = FaultCode("input", "notSelected")
    /// Its modality or form does not suit the model.
    public static let notForModel = FaultCode("input", "notForModel")
    /// A label map or mask among the scans: whole numbers from 0, few, in regions of equal values.
    public static let labelMap = FaultCode("input", "labelMap")
    /// A 4-D file, where the model takes single volumes.
    public static let timeSeries = FaultCode("input", "timeSeries")
    /// A photo below the size that a model needs.
    public static let tooSmall = FaultCode("input", "tooSmall")
    /// A single slice, where a model takes volumes.
    public static let singleSlice = FaultCode("input", "singleSlice")
    /// No labels, where existing labels are measured.
    public static let noLabels = FaultCode("input", "noLabels")
    /// Labels whose frames do not lie on a straight, even grid.
    public static let noLabelGrid = FaultCode("dicom", "labelGrid")
    /// A file of the item was written while the item was processed.
    public static let changed = FaultCode("input", "changed")
    /// A file of the item was written after the batch was divided into shards.
    public static let changedSincePlan = FaultCode("input", "changedSincePlan")
    /// The file or its model was part of the batch before and no longer is.
    public static let vanished = FaultCode("input", "noLongerFound")
    /// The file belongs to another item, such as a channel of a case.
    public static let partOfOther = FaultCode("input", "partOfAnotherItem")
    /// What discovery found cannot be recorded.
    public static let notRecordable = FaultCode("input", "metadataUnusable")
    /// Several files that should be the channels of one case are not.
    public static let channels = FaultCode("case", "channelsDoNotMatch")
    /// The channels of a case have different sizes, spacings or positions.
    public static let channelGrids = FaultCode("case", "gridsDiffer")
}

extension Note.Code {
    /// Intensities that the model was not trained on. They count for `--stop-when outside`.
    public static let unusualIntensities: Note.Code = "volume.unusualIntensities"
}

/// Why items that were started did not complete.
extension FaultCode {
    /// Its result was removed, since it was older than those that a watch keeps.
    public static let expired = FaultCode("item", "expired")
    /// The result has lost its meshes or pictures, since it was older than those that a watch keeps whole.
    public static let thinned = FaultCode("item", "thinned")
    /// The result of another batch is not as that batch has recorded it.
    public static let notReusable = FaultCode("item", "notReusable")
    /// The run ended before the item was started.
    public static let notReached = FaultCode("run", "notReached")
    /// A person wants it to be processed again.
    public static let requested = FaultCode("run", "requestedAgain")
    /// The run was stopped while the item was processed; `nocturne resume` continues it.
    public static let interrupted = FaultCode("run", "interrupted")
    /// The result was made by a device that computed wrong values later.
    public static let unproved = FaultCode("run", "unproved")
    /// `nocturne cancel` named the item.
    public static let cancelled = FaultCode("run", "cancelled")
    /// The item took longer than `--item-timeout`.
    public static let timeLimit = FaultCode("item", "timeLimit")
    /// The engine crashed while the item was active.
    public static let engineCrashed = FaultCode("item", "engineCrashed")
    /// The files of a result could not be written completely.
    public static let outputUnusable = FaultCode("output", "unusable")
}
