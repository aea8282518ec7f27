//! The rows of the table. `docs/reasons.md` is this table as prose; a test keeps the two equal.

use super::{ProblemType, ReasonUse, Retry, Row};

/// Writes each row once: the variant, its documentation and its row come from the same words.
macro_rules! reasons {
    ($($name:ident $code:literal $used_as:ident $status:literal $problem:ident $retry:ident
        $meaning:literal $en:literal $zh_tw:literal;)*) => {
        /// Why a request was refused, a place was lost, or a line stands still. The codes never change their meaning.
        ///
        /// ```
        /// use shared::http::reason::Reason;
        /// assert_eq!(Reason::DoorFull.code(), "DOOR_FULL");
        /// assert_eq!(Reason::DoorFull.status(), 409);
        /// assert_eq!(Reason::from_code("DOOR_FULL"), Some(Reason::DoorFull));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = $meaning] $name,)*
        }

        impl Reason {
            /// Every reason, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub(super) const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &Row {
                        code: $code,
                        used_as: ReasonUse::$used_as,
                        status: $status,
                        problem: ProblemType::$problem,
                        retry: Retry::$retry,
                        meaning: $meaning,
                        en: $en,
                        zh_tw: $zh_tw,
                    },)*
                }
            }
        }
    };
}

reasons! {
    // Tickets and turns.
    NoTicket "NO_TICKET" Refusal 401 Blank Never
        "The request needs a ticket and carries none."
        "You are not in line yet. Join the line first."
        "您尚未加入排隊，請先取得排隊號碼。";
    TicketInvalid "TICKET_INVALID" Refusal 400 Blank Never
        "The ticket is malformed, signed with another key, or of another event."
        "We cannot read your ticket. Join the line again."
        "無法辨識您的排隊號碼，請重新加入排隊。";
    TicketVoid "TICKET_VOID" Refusal 410 Blank Never
        "The ticket belongs to an earlier epoch, which the operator ended on purpose."
        "This ticket is no longer valid. Join the line again."
        "此排隊號碼已失效，請重新加入排隊。";
    TicketSpent "TICKET_SPENT" Refusal 410 Blank Never
        "The ticket was redeemed before and its session is over, or it was abandoned."
        "This ticket has been used. Join the line again to shop once more."
        "此排隊號碼已使用，若要再次選購請重新加入排隊。";
    TurnExpired "TURN_EXPIRED" Refusal 410 Blank Never
        "The ticket was called and not redeemed for ten times `turn_grace`."
        "Your turn has passed. Join the line again."
        "您的進場時間已過，請重新加入排隊。";
    NotYourTurn "NOT_YOUR_TURN" Refusal 409 Blank Later
        "The ticket has not been called yet."
        "It is not your turn yet. You keep your place."
        "尚未輪到您，您的排隊順序會保留。";
    DoorFull "DOOR_FULL" Refusal 409 Blank Later
        "The ticket is called, and no session is free at this moment, or the admission rate is used up."
        "It is your turn and the shop is full for a moment. You keep your place."
        "已輪到您，但目前場內已滿，請稍候，您的順序會保留。";
    SessionEnded "SESSION_ENDED" Refusal 410 Blank Never
        "The session is finished, revoked, idle or at its maximum."
        "Your shopping time has ended. Join the line again to shop once more."
        "您的購物時間已結束，若要再次選購請重新加入排隊。";
    ExtensionsUsed "EXTENSIONS_USED" Refusal 409 Blank Never
        "The buyer has extended the session as often as the event allows."
        "Your shopping time cannot be extended again."
        "您的購物時間已無法再延長。";
    BuyerLimit "BUYER_LIMIT" Refusal 403 Blank Never
        "The buyer has had as many sessions as the event allows one buyer."
        "You have shopped in this sale as often as one person may."
        "您在此活動的購物次數已達上限。";
    CodeUnknown "CODE_UNKNOWN" Refusal 403 Blank Never
        "The code opens no lane of the event and moves no place, or no longer does."
        "We do not know this code. Check it, or go on without one."
        "無法辨識此代碼，請確認後再試，或不使用代碼繼續。";
    CodeUsed "CODE_USED" Refusal 403 Blank Never
        "Every use of the invitation code is held by somebody or spent."
        "This code is in use already. Go on without one."
        "此代碼已被使用，請不使用代碼繼續。";
    TicketMoved "TICKET_MOVED" Refusal 410 Blank Never
        "The ticket's place has moved to another device."
        "Your place is on your other device now."
        "您的排隊位置已移至另一部裝置。";
    SessionStays "SESSION_STAYS" Refusal 409 Blank Never
        "The place cannot move: its session, or one of the device that would take it, has begun."
        "Shopping has begun on one of the devices, so this place stays where it is."
        "其中一部裝置已開始購物，因此排隊位置無法移動。";
    PassInvalid "PASS_INVALID" Refusal 403 Blank Never
        "The pass is malformed, signed with another key, or of another event or place."
        "We cannot read your pass. Return to the line."
        "無法辨識您的入場憑證，請回到排隊頁面。";
    PassExpired "PASS_EXPIRED" Refusal 403 Blank Never
        "The pass has run out and was not renewed."
        "Your pass has run out. Return to the line."
        "您的入場憑證已逾期，請回到排隊頁面。";
    ProofInvalid "PROOF_INVALID" Refusal 400 Blank Never
        "The device proof is no text, or longer than 4 KB; proofs are not verified yet."
        "We could not confirm this device. Try again."
        "無法確認您的裝置，請再試一次。";

    // The gate, the room and its limits.
    QueueRequired "QUEUE_REQUIRED" Refusal 429 ReducedCapacity Later
        "The gated request carries no valid pass of the event that sells its SKU."
        "Many people want this item. Join the line to buy it."
        "目前商品搶購熱烈，請先加入排隊再選購。";
    RateLimited "RATE_LIMITED" Refusal 429 QuotaExceeded Later
        "A policy's quota is used up for this key."
        "You are going a little too fast. Wait a moment, then try again."
        "目前商品搶購熱烈，您的操作過於頻繁，請稍候再試。";
    Locked "LOCKED" Refusal 403 Blank Later
        "The key did something too often and is locked for a while; trying again meanwhile does not lengthen the lock."
        "You tried too often and have to wait for a while."
        "操作過於頻繁，暫時無法使用，請稍後再試。";
    ShopBusy "SHOP_BUSY" Refusal 429 QuotaExceeded Later
        "The quota that everybody in the shop, on the route or on the site shares is used up."
        "Many people are shopping right now. Wait a moment, then try again."
        "目前商品搶購熱烈，暫時無法結帳，請稍後再試。";
    SkuBusy "SKU_BUSY" Refusal 429 QuotaExceeded Later
        "The quota that everybody who wants this SKU shares is used up."
        "Many people want this item right now. Wait a moment, then try again."
        "此商品搶購熱烈，請稍後再試。";
    LimiterUnavailable "LIMITER_UNAVAILABLE" Refusal 503 ReducedCapacity Later
        "The home of a limit did not answer, and its policy closes the route then."
        "We cannot let requests through just now. Try again in a moment."
        "系統忙碌中，請稍候再試。";
    CostTooHigh "COST_TOO_HIGH" Refusal 400 Blank Never
        "The request costs more than the policy admits at one instant, so waiting does not help."
        "That is more than one request may ask for. Ask for less."
        "單次請求超過上限，請減少數量後再試。";
    OutOfStock "OUT_OF_STOCK" Refusal 409 Blank Never
        "Nothing is left of the SKU."
        "This item is sold out."
        "此商品已售完。";
    EventUnknown "EVENT_UNKNOWN" Refusal 404 Blank Never
        "No event of this name belongs to the shop."
        "There is no such sale."
        "找不到此活動。";
    NotOpenYet "NOT_OPEN_YET" Refusal 409 Blank Later
        "The event is scheduled and its lobby is not open."
        "This sale has not opened yet."
        "活動尚未開始。";
    EventPaused "EVENT_PAUSED" Refusal 503 ReducedCapacity Later
        "The event is paused and takes no joins and no redemptions."
        "The sale is paused. You keep your place."
        "活動暫停中，您的排隊順序會保留。";
    EventClosed "EVENT_CLOSED" Refusal 410 Blank Never
        "The event is over."
        "This sale is over."
        "活動已結束。";
    RoomFull "ROOM_FULL" Refusal 503 ReducedCapacity Never
        "The lane has handed out its last ticket number in this epoch."
        "The line is closed: no more places are left."
        "排隊人數已達上限，目前無法加入。";

    // What an operator orders.
    ActionNotNow "ACTION_NOT_NOW" Refusal 409 Blank Never
        "The event's phase does not allow this action."
        "The sale cannot do this in its present phase."
        "活動目前的狀態不允許此操作。";
    ActionInvalid "ACTION_INVALID" Refusal 400 Blank Never
        "The action is unknown, or a number in it is out of range."
        "This order cannot be read."
        "無法辨識此操作。";
    EpochsExhausted "EPOCHS_EXHAUSTED" Refusal 409 Blank Never
        "The event has begun 65,535 epochs; a new one needs a new event."
        "The tickets of this sale cannot be voided again."
        "此活動無法再重設排隊號碼。";

    // What a request must look like.
    HostUnknown "HOST_UNKNOWN" Refusal 421 Blank Never
        "The host belongs to no shop of the configuration."
        "This address belongs to no shop here."
        "此網址不屬於任何商店。";
    RouteUnknown "ROUTE_UNKNOWN" Refusal 404 Blank Never
        "Fairgate has no such call under its prefix."
        "There is nothing at this address."
        "找不到此頁面。";
    MethodNotAllowed "METHOD_NOT_ALLOWED" Refusal 405 Blank Never
        "The call exists under another method, named in `Allow`."
        "This request cannot be made this way."
        "不支援此操作方式。";
    OriginNotAllowed "ORIGIN_NOT_ALLOWED" Refusal 403 Blank Never
        "The `Origin` of a change is neither the shop nor one of its `allowed_origins`."
        "This site may not act for you here."
        "此網站無權執行這項操作。";
    PathInvalid "PATH_INVALID" Refusal 400 Blank Never
        "The path is malformed, or could be read as a gated or limited one in one way and not in another."
        "We cannot read this address."
        "無法辨識此網址。";
    HeadersTooLarge "HEADERS_TOO_LARGE" Refusal 431 Blank Never
        "The cookies or headers are larger than Fairgate reads."
        "Your browser sent too much data. Clear the cookies of this site, then try again."
        "瀏覽器傳送的資料過大，請清除本站 Cookie 後再試。";
    BodyTooLarge "BODY_TOO_LARGE" Refusal 413 Blank Never
        "The body of a gated request or of a call is larger than 16 KB."
        "The request is too large."
        "請求內容過大。";
    BodyTimeout "BODY_TIMEOUT" Refusal 408 Blank Later
        "The body did not arrive within 10 s."
        "The connection is too slow. Try again in a moment."
        "連線速度過慢，請稍候再試。";
    BodyCompressed "BODY_COMPRESSED" Refusal 415 Blank Never
        "The body of a gated request or of a call has a `Content-Encoding` other than `identity`."
        "The request cannot be read."
        "無法讀取請求內容。";
    ContentTypeUnsupported "CONTENT_TYPE_UNSUPPORTED" Refusal 415 Blank Never
        "The content type, or its charset, is not the one the route declares."
        "The request cannot be read."
        "無法讀取請求內容。";
    BodyNotUtf8 "BODY_NOT_UTF8" Refusal 400 Blank Never
        "The body is not UTF-8."
        "The request cannot be read."
        "無法讀取請求內容。";
    BodyInvalid "BODY_INVALID" Refusal 400 Blank Never
        "The body is not what its content type says."
        "The request cannot be read."
        "無法讀取請求內容。";
    BodyAmbiguous "BODY_AMBIGUOUS" Refusal 400 Blank Never
        "The body or query names the SKU's field more than once, so that the shop might read another SKU than the gate."
        "The request names more than one item where one is expected."
        "請求中的商品資訊重複，無法處理。";
    SkuMissing "SKU_MISSING" Refusal 400 Blank Never
        "The gated request names no SKU where the route declares one."
        "The request names no item."
        "請求中缺少商品資訊。";
    SkuNotText "SKU_NOT_TEXT" Refusal 400 Blank Never
        "The SKU in the JSON body, or an object on the way to it, has another JSON type than the route declares."
        "The item in the request cannot be read."
        "無法辨識請求中的商品。";
    SkuTooLong "SKU_TOO_LONG" Refusal 400 Blank Never
        "The SKU is longer than 64 bytes."
        "The item in the request cannot be read."
        "無法辨識請求中的商品。";
    SkuInvalid "SKU_INVALID" Refusal 400 Blank Never
        "The SKU is empty or holds a character that no SKU may hold."
        "The item in the request cannot be read."
        "無法辨識請求中的商品。";

    // The service side.
    AccessKeyMissing "ACCESS_KEY_MISSING" Refusal 401 Blank Never
        "The call needs a bearer key and carries none."
        "This call needs a key."
        "此操作需要金鑰。";
    AccessKeyInvalid "ACCESS_KEY_INVALID" Refusal 401 Blank Never
        "No bearer key of this installation reads like the one presented."
        "The key is not valid."
        "金鑰無效。";
    RoleMissing "ROLE_MISSING" Refusal 403 Blank Never
        "The bearer key has not the role that the call needs."
        "This key may not do that."
        "此金鑰沒有執行這項操作的權限。";
    ShopNotAllowed "SHOP_NOT_ALLOWED" Refusal 403 Blank Never
        "The bearer key is not for this shop."
        "This key is not for this shop."
        "此金鑰不適用於這間商店。";
    ShopUnknown "SHOP_UNKNOWN" Refusal 404 Blank Never
        "No shop of this name is in the configuration."
        "There is no such shop."
        "找不到此商店。";
    PolicyUnknown "POLICY_UNKNOWN" Refusal 404 Blank Never
        "The shop has no policy, or no route, of this name."
        "There is no such limit."
        "找不到此限制。";
    KeyPartMissing "KEY_PART_MISSING" Refusal 400 Blank Never
        "A named policy counts by something that the request does not tell."
        "The request does not say whom to count."
        "請求中缺少計數所需的資料。";
    KeyPartInvalid "KEY_PART_INVALID" Refusal 400 Blank Never
        "A part of a key is empty, too long, or not what its name says."
        "The request does not say clearly whom to count."
        "請求中計數所需的資料無效。";
    PolicyInvalid "POLICY_INVALID" Refusal 400 Blank Never
        "The settings of a policy cannot be read, or cannot be kept exactly."
        "These settings cannot be used."
        "此設定無法使用。";
    BatchTooLarge "BATCH_TOO_LARGE" Refusal 413 Blank Never
        "The call holds more checks, receipts or policies than one may."
        "The request asks for too much at once."
        "單次請求的項目過多。";
    ReceiptInvalid "RECEIPT_INVALID" Refusal 400 Blank Never
        "The receipt was not made by this installation, or is too old."
        "We cannot read this receipt."
        "無法辨識此憑據。";
    ReceiptSpent "RECEIPT_SPENT" Refusal 409 Blank Never
        "What the receipt stands for was given back before."
        "This was given back already."
        "此憑據已使用過。";

    // Faults.
    EdgeSignatureInvalid "EDGE_SIGNATURE_INVALID" Refusal 401 Blank Never
        "The edge's signature is missing, wrong, or further than 60 s from the server's clock."
        "The request could not be verified."
        "無法驗證此請求。";
    Unconfirmed "UNCONFIRMED" Refusal 503 ReducedCapacity Later
        "The store did not confirm in time; the same request may be sent again without harm."
        "We could not confirm that just now. Nothing is lost; we try again in a moment."
        "暫時無法確認，資料不會遺失，請稍候再試。";
    QueueUnreachable "QUEUE_UNREACHABLE" Refusal 503 ReducedCapacity Later
        "The edge cannot reach the queue server."
        "The line is paused for a moment. You keep your place."
        "排隊系統暫停中，您的順序會保留，請稍候。";
    SnapshotUnavailable "SNAPSHOT_UNAVAILABLE" Refusal 503 ReducedCapacity Later
        "The edge holds no snapshot of the event and cannot get one."
        "The line is paused for a moment. You keep your place."
        "排隊系統暫停中，您的順序會保留，請稍候。";
    OriginUnreachable "ORIGIN_UNREACHABLE" Refusal 502 Blank Later
        "The shop did not answer, or refused the connection."
        "The shop does not answer right now. Try again in a moment."
        "商店暫時沒有回應，請稍後再試。";
    OriginTimeout "ORIGIN_TIMEOUT" Refusal 504 Blank Later
        "The shop did not answer within the time budget."
        "The shop is slow right now. Look at your cart before you try again."
        "商店回應較慢，請先查看購物車再重試。";
    Overloaded "OVERLOADED" Refusal 503 ReducedCapacity Later
        "This part has more work than it takes on."
        "We are very busy. Wait a moment, then try again."
        "系統忙碌中，請稍候再試。";
    Misconfigured "MISCONFIGURED" Refusal 503 Blank Later
        "The edge has no configuration or keys that it can read; its log says what is wrong."
        "This shop is being set up. Try again in a moment."
        "商店設定中，請稍後再試。";
    Internal "INTERNAL" Refusal 500 Blank Never
        "A bug in Fairgate; the request id finds it in the log."
        "Something went wrong on our side."
        "系統發生錯誤。";

    // Why a line stands still, or goes slower than it could.
    OperatorPaused "OPERATOR_PAUSED" Standstill 503 ReducedCapacity Later
        "The operator paused the event."
        "The sale is paused. You keep your place."
        "活動暫停中，您的排隊順序會保留。";
    RedemptionsStopped "REDEMPTIONS_STOPPED" Standstill 503 ReducedCapacity Later
        "Redemptions fell under a tenth of what was expected, so calling stopped."
        "Entry is interrupted for a moment. You keep your place."
        "進場暫時中斷，您的排隊順序會保留。";
    OriginFailing "ORIGIN_FAILING" Standstill 503 ReducedCapacity Later
        "Too many of the shop's replies are errors, so nobody is called for 10 s at a time."
        "The shop has trouble, so entry waits for it. You keep your place."
        "商店系統異常，暫停進場，您的排隊順序會保留。";
    OriginSlow "ORIGIN_SLOW" Standstill 503 ReducedCapacity Later
        "The shop answers slowly, so fewer sessions are let in at a time."
        "The shop is slow, so the line moves slower than usual."
        "商店回應較慢，排隊速度會慢一些。";

    // How a gated request that went on to the shop ended.
    CartAccepted "CART_ACCEPTED" Outcome 200 Blank Never
        "The shop accepted the add-to-cart with a 2xx or 3xx status."
        "The item is in your cart."
        "商品已加入購物車。";
    CartRejected "CART_REJECTED" Outcome 409 Blank Never
        "The shop refused the add-to-cart with a 4xx status of its own."
        "The shop did not accept the item."
        "商店未接受此商品。";
    CartFailed "CART_FAILED" Outcome 502 Blank Later
        "The shop failed at the add-to-cart with a 5xx status of its own."
        "The shop had a problem with your cart. Try again in a moment."
        "加入購物車時發生問題，請稍後再試。";
}
