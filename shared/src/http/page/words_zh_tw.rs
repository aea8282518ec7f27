//! The page in Traditional Chinese as written in Taiwan.

use super::words::{ModeWords, Modes, Plural, Words};

pub(super) static WORDS: Words = Words {
    line: "線上排隊",
    stop: "。",
    modes: Modes {
        outside: ModeWords {
            heading: "加入排隊", text: "目前想購買的人很多，將依到達順序進場。"
        },
        joining: ModeWords { heading: "正在為您排隊", text: "請稍候。" },
        waiting: ModeWords { heading: "您正在排隊", text: "" },
        called: ModeWords {
            heading: "輪到您了", text: "本頁會自動帶您進場；若沒有反應，請按下方按鈕。"
        },
        late: ModeWords {
            heading: "您仍可進場", text: "輪到您時您不在線上。一有空位，您就能進場。"
        },
        entered: ModeWords {
            heading: "您已進場", text: "請回到商品頁，再按一次加入購物車，這次就會成功。"
        },
        left: ModeWords { heading: "您已離開排隊", text: "您的位置已讓給後面的人。" },
        ended: ModeWords { heading: "您的排隊已結束", text: "" },
        cookies: ModeWords {
            heading: "Cookie 已被封鎖",
            text: "本站以 Cookie 保留您的排隊順序，但您的瀏覽器封鎖了它，因此無法輪到您。請允許本站使用 Cookie，再試一次。",
        },
        framed: ModeWords {
            heading: "請在獨立視窗中排隊",
            text: "本頁顯示在其他網站之中，瀏覽器會封鎖保留您順序的 Cookie。",
        },
    },
    ahead: Plural { one: None, other: "您前面還有 {n} 人" },
    next: "下一位就是您",
    wait_label: "預估等候時間",
    moved_label: "隊伍上次前進",
    number_label: "您的號碼",
    eta_under_minute: "不到 1 分鐘",
    eta_minutes: "約 {high} 分鐘",
    eta_minutes_range: "約 {low} 到 {high} 分鐘",
    eta_minutes_up_to: "最多 {high} 分鐘",
    eta_hours: "約 {high} 小時",
    eta_hours_range: "約 {low} 到 {high} 小時",
    eta_hours_up_to: "最多 {high} 小時",
    eta_unknown: "目前無法預估",
    eta_paused: "暫停中",
    moved_now: "剛剛",
    moved_under_minute: "不到 1 分鐘前",
    moved_minutes: Plural { one: None, other: "{n} 分鐘前" },
    moved_hours: Plural { one: None, other: "{n} 小時前" },
    paused: "隊伍暫停中，您的排隊順序會保留。",
    offline: "連線中斷，系統會持續重試，您的排隊順序會保留。",
    keep: Plural {
        one: None,
        other: "您可以關閉本頁，24 小時內用同一個瀏覽器回來，排隊順序都會保留。輪到您之後，會為您保留 {n} 分鐘。",
    },
    live: "本頁會自動更新，無須重新整理；重新整理也不會影響順序。",
    manual: "本頁在此無法自動更新，請不時查看您的順位。",
    join: "加入排隊",
    enter: "進入商店",
    check: "查看我的順位",
    leave: "離開排隊",
    leave_heading: "要離開排隊嗎？",
    leave_text: "您的位置會讓給後面的人。之後可以重新排隊，但要從隊伍最後開始。",
    leave_yes: "離開排隊",
    leave_no: "保留我的位置",
    codes: "我有代碼，或要換裝置",
    code_label: "邀請碼",
    code_use: "使用邀請碼",
    move_label: "另一部裝置顯示的代碼",
    move_use: "把位置移到這裡",
    code_taken: "代碼有效，這是您現在的位置。",
    offer: "在另一部裝置使用這個位置",
    offered: "請在另一部裝置開啟本頁，並輸入 {code}。此代碼限用一次，{n} 分鐘內有效。",
    back: "回到商店",
    retry: "再試一次",
    open_alone: "在獨立視窗中開啟",
    again: Plural { one: None, other: "請於 {n} 秒後再試。" },
    request: "請求編號",
};
